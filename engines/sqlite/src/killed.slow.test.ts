/** A process that is killed: what a publisher was told is stored is handled, in order, by the next process. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isOnPush } from '@elysia-microservices/test-support'
import { sqlite } from './sqlite.ts'

const PROGRAM = fileURLToPath(
  new URL(`./testing/service-program${path.extname(import.meta.url)}`, import.meta.url)
)
const KILLS = isOnPush ? 8 : 1_000

const folder = mkdtempSync(path.join(tmpdir(), 'sqlite-'))
after(() => rmSync(folder, { recursive: true }))

interface Life {
  readonly stored: number[]
  readonly handled: number[]
}

/** Runs the service until it was killed after a number of lines, or has handled all. */
async function live(killAfter: number, first: number, last?: number): Promise<Life> {
  const args = [
    PROGRAM,
    path.join(folder, 'events.db'),
    String(first),
    ...(last === undefined ? [] : [String(last)])
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const life: Life = { stored: [], handled: [] }
  let lines = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (++lines === killAfter || line === 'handled end') child.kill('SIGKILL')
    const [what, n] = line.split(' ') as ['stored' | 'handled', string]
    if (n !== 'end') life[what].push(Number(n))
  }
  return life
}

it('all that was stored before a process was killed is handled, in order, and nothing is stored twice; what a transactional handler writes happens once', {
  timeout: KILLS * 4_000
}, async () => {
  const stored: number[] = []
  const handled: number[] = []
  const note = (life: Life) => {
    stored.push(...life.stored)
    handled.push(...life.handled)
  }
  for (let kill = 0; kill < KILLS; kill++)
    note(await live(300 + ((111 * kill) % 400), (stored.at(-1) ?? 0) + 1))
  const last = (stored.at(-1) as number) + 100
  note(await live(Number.POSITIVE_INFINITY, (stored.at(-1) as number) + 1, last))
  const firsts = [...new Set(handled)]
  assert.deepEqual(
    firsts,
    Array.from({ length: last }, (_, at) => at + 1)
  )
  const effects = await sqlite(path.join(folder, 'events.db')).query(
    "select count(*) as count, count(distinct n) as numbers from effect where n <> 'end'"
  )
  assert.deepEqual(effects, [{ count: last, numbers: last }])
  // In each life at most the one that ran is handled once more.
  assert.ok(handled.length - firsts.length <= KILLS * 50, `${handled.length - firsts.length} again`)
})
