/** Lives are lived in a process of their own, because a world takes the place of the runtime's time. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isOnPush } from '@elysia-microservices/test-support'
import { CARRIERS } from './carriers.ts'

const program = (name: string) => fileURLToPath(new URL(import.meta.url.replace('lives.test', name)))

/** @returns what the program of lives has printed, and whether it has found nothing */
function lives(...options: string[]): Promise<{ readonly text: string; readonly isFine: boolean }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program('run'), ...options], (error, text, errors) =>
      resolve({ text: text + errors, isFine: error === null })
    )
  )
}

it('lives that once broke a promise keep it, and new lives keep all promises', async () => {
  // The seeds differ from run to run; a seed that breaks a promise is printed, with the smallest plan that does.
  const from = Math.floor(Math.random() * 2 ** 31)
  // Opening PostgreSQL, and its lives, take long.
  const carriers = CARRIERS.filter((one) => one !== 'postgres')
  const few = isOnPush ? [`--carriers=${carriers}`, '--stores=sqlite'] : []
  const { text, isFine } = await lives(
    '--kept',
    `--from=${from}`,
    `--minutes=${isOnPush ? 0.05 : 60}`,
    ...few
  )
  assert.ok(isFine, text)
})
