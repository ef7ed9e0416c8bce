/** Tests when a program that is kept running counts as failing each time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { STEADY } from './crashes.ts'
import type { Guard } from './guarded.ts'
import { type Supervised, Supervisor } from './supervisor.ts'

/** A program that loads for long, and then cannot run. */
class Slow implements Supervised {
  readonly name = 'slow'
  readonly isWatched = false
  readonly isFull = false
  readonly said: string[] = []

  async start(): Promise<never> {
    await new Promise((resolve) => setTimeout(resolve, STEADY + 1))
    throw new Error('there is no port')
  }

  say(text: string): void {
    this.said.push(text)
  }

  readySince(): undefined {
    return undefined
  }

  cause(): undefined {
    return undefined
  }

  lines(): void {}
  onRoom(): void {}
}

describe('a program that loads for long and then fails', () => {
  it('has not run steadily: its pauses grow, and the same crash is printed three times', async () => {
    using time = new VirtualTime()
    const program = new Slow()
    const supervisor = new Supervisor(program, 0, {} as Guard)
    supervisor.start()
    await time.until('It has crashed three times', () => program.said.length === 3)
    assert.match(program.said[0] ?? '', /^slow cannot be started: there is no port; next start in 0\.5 s$/)
    assert.match(program.said[1] ?? '', /^slow has crashed again for this reason; next start in 1 s$/)
    assert.match(program.said[2] ?? '', /^slow crashes for this reason each time/)
    supervisor.kill()
    await time.settled(supervisor.stop())
  })
})
