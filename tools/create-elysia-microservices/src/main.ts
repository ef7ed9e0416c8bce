#!/usr/bin/env node
/** The program `create-elysia-microservices`, which `npm create elysia-microservices` and `bun create` run. */
import { spawn } from 'node:child_process'
import { run } from './run.ts'

const { stdin, stdout, stderr, argv, env } = process
process.exitCode = await run(argv.slice(2), {
  terminal: stdin.isTTY && stdout.isTTY ? { input: stdin, output: stdout } : undefined,
  userAgent: env['npm_config_user_agent'],
  node: process.versions.node,
  runs: (cwd, file, args) =>
    new Promise((resolve) => {
      // On Windows, npm is a script, which only a shell can run.
      const child = spawn(file, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
      child.once('error', () => resolve(false))
      child.once('exit', (code) => resolve(code === 0))
    }),
  out: (text) => stdout.write(text),
  error: (text) => stderr.write(text)
})
