/** Plans that once broke a promise, with the seed of their order, and the fault that they found. */
import type { Config, Plan } from './plan.ts'

interface Kept {
  readonly fault: string
  readonly seed: number
  readonly plan: Plan
}

const PLAIN: Config = {
  carrier: 'rsocket',
  clients: 1,
  services: 1,
  delay: 0,
  resume: false,
  lease: false,
  inFlight: 0,
  inFlightPerConnection: 0,
  timeout: 30_000,
  ordered: false
}

export const KEPT: readonly Kept[] = [
  {
    fault: 'A service that was connecting when its RabbitMQ server was lost ended its process',
    seed: 12,
    plan: {
      config: { ...PLAIN, carrier: 'rabbitmq' },
      steps: [
        { at: 0, do: 'still', for: 2_662 },
        { at: 0, do: 'join' },
        { at: 0, do: 'away', for: 1 }
      ]
    }
  },
  {
    fault: "Events that waited for room on Nest's wire were lost when their client closed the connection",
    seed: 700_525,
    plan: {
      config: { ...PLAIN, carrier: 'nest', inFlight: 4, timeout: 500 },
      steps: [
        {
          at: 0,
          do: 'request',
          client: 0,
          work: 'wait',
          takes: 2_367,
          times: 4,
          idempotent: false,
          abort: 0
        },
        { at: 0, do: 'emit', client: 0, times: 3, takes: 1 },
        { at: 1, do: 'request', client: 0, work: 'echo', takes: 0, times: 1, idempotent: false, abort: 0 }
      ]
    }
  },
  {
    fault: 'A call that was cancelled before its connection was there was sent, and said that it had not run',
    seed: 800_490,
    plan: {
      config: { ...PLAIN, clients: 2, delay: 30 },
      steps: [
        { at: 0, do: 'request', client: 1, work: 'echo', takes: 0, times: 1, idempotent: false, abort: 22 },
        { at: 23, do: 'stream', client: 0, source: 'observable', values: 0, take: 1, pause: 0 }
      ]
    }
  },
  {
    fault:
      'Events were promised and lost, if the socket of a resumable connection was cut before SETUP had arrived',
    seed: 645,
    plan: {
      config: { ...PLAIN, clients: 3, delay: 30, resume: true },
      steps: [
        { at: 0, do: 'emit', client: 1, times: 1, takes: 0 },
        { at: 15, do: 'cut', client: 1 }
      ]
    }
  }
]
