// Hands the compaction of the conversation to ctxc and its answer back. What is compacted, and how, is decided there.
const CTXC = "@CTXC@"

// The context window in tokens, as the client measured it last; 0 while it is not known.
let contextWindow = 0
// How full it was at the last measure, and when ctxc last compacted it unasked.
let percent = -1
let compactedAt = null

// Typed as a command, for a plugin's own call of compact passes its hook by; and later, for a command cannot wait for itself.
function compactSoon($, args) {
  $.clock.after(50, async () => {
    try { await $.command.run({ command: 'compact', args }) } catch (error) { $.ui.log('ctxc: ' + error) }
  })
}

export function register(on) {
  on('command.run', { command: 'ctxc:fit' }, async ($, e) => {
    compactSoon($, e.args ?? '')
    return { text: 'compacting with ctxc' }
  })

  on('session.measure', async ($, e, next) => {
    contextWindow = e.context?.window ?? contextWindow
    const now = Math.round(e.context?.percent ?? 0)
    if (now === percent) return next(e)
    percent = now
    const since = compactedAt === null ? [] : ['--compacted-at', String(compactedAt)]
    const ran = await $.process.run([CTXC, 'client', 'measure', '--percent', String(now), ...since], { timeoutMs: 5000 })
    if (ran.exitCode === 0) {
      const told = JSON.parse(ran.stdout)
      compactedAt = told.compactedAt
      if (told.status) $.ui.status(told.status)
      if (told.compact) compactSoon($, '')
    }
    return next(e)
  }).catch(async ($, e, next) => next(e))

  on('session.compact', async ($, e, next) => {
    // Subagents are compacted by the client, and nothing is prepared before somebody asks for it.
    if (e.agentId) return next(e)
    if (e.trigger === 'precompute') return { skip: 'ctxc compacts when it is asked to' }
    const info = await $.session.info()
    const ran = await $.process.run([CTXC, 'client', 'compact', '--quiet'], {
      stdin: JSON.stringify({
        trigger: e.trigger,
        instructions: e.instructions ?? '',
        session: await $.session.id(),
        transcript: info.transcriptPath,
        window: contextWindow || null,
        messages: e.messages,
      }),
      timeoutMs: 60000,
    })
    // The client compacts by itself where ctxc has any doubt.
    if (ran.exitCode !== 0 || ran.isStdoutTruncated) return next(e)
    return JSON.parse(ran.stdout)
  }).catch(async ($, e, next) => next(e))
}
