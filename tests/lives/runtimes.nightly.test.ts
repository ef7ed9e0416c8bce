/** The same seed gives the same life on each runtime. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { oldestNode } from '@elysia-microservices/test-support'
import { CARRIERS } from './carriers.ts'

const run = promisify(execFile)
const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))

it('a life is the same on Bun and Node', async () => {
  // The oldest Node has no SQLite.
  const carriers = CARRIERS.filter((one) => one !== 'sqlite')
  const options = ['--lives=100', '--hashes', `--carriers=${carriers}`, '--stores=postgres']
  const [bun, node] = await Promise.all([
    run(process.execPath, [program('run.ts'), ...options]),
    run(oldestNode(), [program('../dist/lives/run.js'), ...options])
  ])
  const hashes = ({ stdout }: { stdout: string }) =>
    stdout.split('\n').filter((line) => /^\d+ \d+$/.test(line))
  assert.equal(hashes(bun).length, 100)
  assert.deepEqual(hashes(node), hashes(bun))
})
