import { test, expect } from 'claude-code/testing'

const asked = { trigger: 'manual', messages: [{ role: 'user', text: 'hello', toolUses: [], handle: 'h1' }] } as any

function client(on: any, ran: any) {
  on('process.run', async () => ({ value: { stderr: '', isStdoutTruncated: false, isStderrTruncated: false, ...ran } }))
  on('session.info', async () => ({ value: { transcriptPath: '/t.jsonl' } }))
  on('session.id', async () => ({ value: 'id' }))
  on('session.compact', async () => ({ messages: [{ role: 'user', text: 'of the client', toolUses: [] }] }))
}

test('gives the messages of ctxc back', async ($, on) => {
  client(on, { exitCode: 0, stdout: JSON.stringify({ messages: [{ role: 'user', text: 'of ctxc', toolUses: [] }], tokensBefore: 9, tokensAfter: 1 }) })
  const answer = await $.session.compact(asked)
  expect(answer.messages[0].text).toBe('of ctxc')
})

test('lets the client compact where ctxc fails', async ($, on) => {
  client(on, { exitCode: 1, stdout: '' })
  const answer = await $.session.compact(asked)
  expect(answer.messages[0].text).toBe('of the client')
})

test('lets the client compact where the answer is no JSON', async ($, on) => {
  client(on, { exitCode: 0, stdout: 'no' })
  const answer = await $.session.compact(asked)
  expect(answer.messages[0].text).toBe('of the client')
})

test('leaves subagents to the client', async ($, on) => {
  client(on, { exitCode: 0, stdout: JSON.stringify({ messages: [] }) })
  const answer = await $.session.compact({ ...asked, agentId: 'a1' })
  expect(answer.messages[0].text).toBe('of the client')
})
