/**
 * h2spec, a program of others that breaks the rules of HTTP/2 in all ways it knows, against our server. It is written in
 * Go, and built from its sources.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isMissing } from '@elysia-microservices/test-support'
import { type Listening, listen } from '../testing/sockets.ts'

const run = promisify(execFile)
const PROGRAM = 'github.com/summerwind/h2spec/cmd/h2spec@latest'
const GO = ['/usr/local/go/bin/go', '/usr/bin/go', '/usr/lib/go/bin/go'].find((file) => existsSync(file))
const CACHE = join(tmpdir(), 'elysia-microservices-h2spec')

/** Builds the program, if that has not been done yet. Returns its path. */
async function built(go: string): Promise<string> {
  const program = join(CACHE, 'bin', 'h2spec')
  const env = { ...process.env, GOPATH: CACHE, GOFLAGS: '-modcacherw' }
  if (!existsSync(program)) await run(go, ['install', PROGRAM], { env, timeout: 600_000 })
  return program
}

if (!isMissing('h2spec', GO === undefined ? 'Go' : undefined))
  describe('h2spec', () => {
    let ours: Listening

    before(async () => {
      ours = await listen({
        request(stream, _fields, isLast) {
          const answer = () => {
            stream.fields([':status', '200', 'content-type', 'text/plain'], false)
            stream.data(Buffer.from('Some bytes for windows of any size'), true)
          }
          stream.listener = {
            head() {},
            data(_buffer, start, end, last) {
              stream.consumed(end - start)
              if (last) answer()
            },
            trailers: answer,
            reset() {},
            room() {}
          }
          if (isLast) answer()
        }
      })
    })
    after(() => ours.stop())

    it('passes whole', { timeout: 1_200_000 }, async () => {
      const program = await built(GO as string)
      const { stdout } = await run(
        program,
        ['--host', '127.0.0.1', '--port', String(ours.port), '--strict', '--timeout', '5'],
        { timeout: 600_000 }
      ).catch((error: Error & { stdout?: string }) => ({ stdout: `${error.stdout}\n${error.message}` }))
      assert.match(stdout, /\b(\d+) tests, \1 passed, 0 skipped, 0 failed/, stdout)
    })
  })
