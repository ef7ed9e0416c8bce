#!/usr/bin/env node
/** The program `create-elysia-microservices`, which `npm create elysia-microservices` and `bun create` run. */
import { run } from './run.ts'

const { stdin, stdout, stderr, argv, env } = process
process.exitCode = await run(argv.slice(2), {
  terminal: stdin.isTTY && stdout.isTTY ? { input: stdin, output: stdout } : undefined,
  userAgent: env['npm_config_user_agent'],
  out: (text) => stdout.write(text),
  error: (text) => stderr.write(text)
})
