#!/usr/bin/env node
/** The program `elysia-microservices`. */
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { run } from './run.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

// Whoever reads the output may have enough, such as `head`.
process.stdout.on('error', () => process.exit())

process.exitCode = await run(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`),
  isTerminal: process.stdout.isTTY === true,
  stdin: () => text(process.stdin),
  version
})
