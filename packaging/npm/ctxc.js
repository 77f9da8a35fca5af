#!/usr/bin/env node
"use strict";
// Starts the program of the platform package that npm has installed beside this one.
const { spawnSync } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const name = `@ctxc/${platform}/bin/ctxc${process.platform === "win32" ? ".exe" : ""}`;
let program;
try {
  program = require.resolve(name);
} catch {
  console.error(`error: there is no package of ctxc for ${platform}`);
  console.error("hint: install it without --omit=optional, or build it with cargo install ctxc");
  process.exit(1);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
}
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
