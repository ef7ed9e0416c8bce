/** Lives in real time, on real servers: the same steps and promises. Only the plan is given by the seed. */
import { memory, type Transport } from '@elysia-microservices/transport'
import type { Carrier } from './carrier.ts'
import { Life, type Surroundings } from './life.ts'
import type { Plan } from './plan.ts'
import { wait } from './world.ts'

/** Milliseconds between two looks whether a life goes on. */
const LOOK = 10

class RealTime implements Surroundings {
  readonly timers = { size: 0 }
  readonly isBusy = false
  readonly isExhausted = false
  /** A real clock does not jump. */
  hop = 0
  uncaught: (error: unknown) => void = () => {}
  readonly #began = performance.now()

  get now(): number {
    return performance.now() - this.#began
  }

  /** Nobody counts the turns of a real event loop; a source that never waits would end no look. */
  get turns(): number {
    return Math.floor(this.now)
  }

  async pass(until: () => boolean, limit: number): Promise<boolean> {
    const end = this.now + limit
    while (this.now < end && !until()) await wait(Math.min(LOOK, Math.max(1, end - this.now)))
    return until()
  }

  after(delay: number, task: () => void): () => void {
    const timer = setTimeout(task, delay)
    return () => clearTimeout(timer)
  }
}

/** A server of an engine, which can be killed and started again. */
export interface RealServer {
  stop(): Promise<unknown>
  start(): Promise<unknown>
}

/** Lives a plan on a server. @returns the broken promises, and the number of calls and events */
export async function liveOn(
  server: RealServer,
  transport: () => Transport,
  plan: Plan
): Promise<{
  readonly broken: readonly string[]
  readonly calls: number
  readonly events: number
}> {
  // The server is killed and started again one after the other, and each takes a while.
  let moved: Promise<unknown> = Promise.resolve()
  const move = (act: () => Promise<unknown>) => {
    moved = moved.then(act)
  }
  const store = plan.config.carrier === 'mqtt' ? { store: memory() } : {}
  const carrier: Carrier = {
    service: () => ({ transport: transport(), ...store }),
    client: () => ({ transport: transport(), ...store }),
    stop: () => move(() => server.stop()),
    start: () => move(() => server.start()),
    left: () => ''
  }
  const life = new Life(new RealTime(), plan, carrier)
  await life.run()
  await moved
  const { broken, calls, emitted, published } = life.ledger
  return { broken, calls: calls.size, events: emitted.size + published.size }
}
