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
  hasOther: false,
  connections: 1,
  delay: 0,
  resume: false,
  lease: false,
  inFlight: 0,
  inFlightPerConnection: 0,
  timeout: 30_000,
  ordered: false,
  every: false
}

const PUBLISH = {
  do: 'publish',
  client: 0,
  to: ['kept'],
  hasId: false,
  pace: 'at once',
  times: 1,
  keys: 1,
  delay: 0,
  takes: 0,
  failures: 0,
  failing: 'error'
} as const
const REQUEST = {
  do: 'request',
  client: 0,
  work: 'echo',
  takes: 0,
  times: 1,
  idempotent: false,
  size: 0,
  abort: 0
} as const

export const KEPT: readonly Kept[] = [
  {
    fault:
      'A client that resumed got no lease if its unused one had been taken back: its calls waited for up to 90 s',
    seed: 52_003_674,
    plan: {
      config: { ...PLAIN, connections: 2, resume: true, lease: true, inFlight: 5 },
      steps: [
        { at: 0, do: 'emit', client: 0, times: 1, takes: 0, size: 0 },
        { at: 40_000, do: 'restart', service: 0, for: 200, times: 1 },
        { at: 80_000, do: 'cut', client: 0 }
      ]
    }
  },
  {
    fault:
      'A Redis server that was started again refused an event, because it had forgotten the script, and stored the next of its key before',
    seed: 52_001_613,
    plan: {
      config: { ...PLAIN, carrier: 'redis', clients: 3, startsNew: true, delay: 1, ordered: true },
      steps: [
        { ...PUBLISH, at: 0, client: 1, to: ['kept', 'filed'], keys: 3, hasId: true, pace: 'in turn' },
        { at: 0, do: 'still', for: 1 },
        { at: 63_056, do: 'channel', client: 0, to: 'total', values: 0, size: 0, pause: 0 },
        { at: 0, do: 'away', for: 1 },
        { ...PUBLISH, at: 75_406, client: 1, hasId: true, pace: 'steadily', times: 2 }
      ]
    }
  },
  {
    fault:
      'In PostgreSQL emitted events became dead letters of other groups whose handlers are transactional, and a list of dead letters never ended while those that were given back died again',
    seed: 53_000_254,
    plan: {
      config: { ...PLAIN, carrier: 'postgres', hasOther: true, delay: 30, transactional: true },
      steps: [
        { at: 0, do: 'emit', client: 0, to: 'filed', takes: 0, times: 80, size: 0 },
        { at: 5_000, do: 'redrive' }
      ]
    }
  },
  {
    fault: 'PostgreSQL counted as lost when old events were deleted of which no group had missed any',
    seed: 71_000,
    plan: { config: { ...PLAIN, carrier: 'postgres', maxAge: 20_000 }, steps: [{ ...PUBLISH, at: 0 }] }
  },
  {
    fault:
      'Over NATS an event of a handler that is not ordered became a dead letter that had never run, after thirty restarts',
    seed: 40_000_700,
    plan: {
      config: { ...PLAIN, carrier: 'nats', startsNew: true, every: true },
      steps: [
        { ...PUBLISH, at: 0, to: ['filed'], hasId: true, pace: 'in turn', keys: 3, delay: 500 },
        { at: 0, do: 'restart', service: 0, for: 67, times: 30 }
      ]
    }
  },
  {
    fault:
      'In PostgreSQL an ordered event that had failed, and waited for a place when its process stopped, came back with one attempt more than had begun',
    seed: 40_001_971,
    plan: {
      config: { ...PLAIN, carrier: 'postgres', ordered: true },
      steps: [
        {
          at: 0,
          do: 'deploy',
          service: 0,
          for: 1,
          options: { inFlight: 0, inFlightPerConnection: 0, concurrency: 1, attempts: 3, files: true }
        },
        { ...PUBLISH, at: 1_000, failures: 1, failing: 'later' },
        { ...PUBLISH, at: 1_000, keys: 3, times: 3, takes: 100 },
        { at: 1_200, do: 'restart', service: 0, for: 1, times: 1 }
      ]
    }
  },
  {
    fault:
      'An event that was emitted for a durable handler alone was lost without a word, if a store beside the transport keeps the events',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'mqtt' },
      steps: [{ at: 0, do: 'emit', client: 0, to: 'kept', takes: 0, times: 1, size: 0 }]
    }
  },
  {
    fault:
      'The start of a service whose PostgreSQL server was lost meanwhile went on for an hour, without waitForConnection, when the wall clock stepped back',
    seed: 20_000_524,
    plan: {
      config: { ...PLAIN, carrier: 'postgres', hasOther: true, delay: 5 },
      steps: [
        { at: 12, do: 'join' },
        { at: 15, do: 'redrive' },
        { at: 0, do: 'still', for: 796 },
        { at: 0, do: 'hop', by: -3_600_000 },
        { at: 0, do: 'die' }
      ]
    }
  },
  {
    fault:
      'Over RabbitMQ a service whose server was lost while it started had begun before its group had a queue, so that the group missed events',
    seed: 40_000_354,
    plan: {
      config: {
        ...PLAIN,
        ...{ carrier: 'rabbitmq', clients: 2, services: 2, hasOther: true, isLate: true, startsNew: true },
        ...{ delay: 5, ordered: true }
      },
      steps: [
        { ...PUBLISH, at: 0, client: 1, to: ['filed'], hasId: true, pace: 'steadily', failing: 'later' },
        { ...REQUEST, at: 0, work: 'fail' },
        { at: 0, do: 'arrive' },
        { at: 27, do: 'away', for: 1 },
        { ...PUBLISH, at: 0, to: ['kept', 'filed'], hasId: true, pace: 'steadily', keys: 20 }
      ]
    }
  },
  {
    fault:
      'A connection that listens to PostgreSQL stayed open for ever when the one before it had been lost while it began to listen',
    seed: 20_000_546,
    plan: {
      config: { ...PLAIN, carrier: 'postgres', hasOther: true, delay: 30 },
      steps: [
        { at: 416, do: 'die' },
        { at: 478, do: 'away', for: 1 }
      ]
    }
  },
  {
    fault:
      'A client over MQTT did not close when its server stood still and then ended: the server of lives forgot it',
    seed: 7_000_428,
    plan: {
      config: { ...PLAIN, carrier: 'mqtt', clients: 3 },
      steps: [
        { at: 0, do: 'emit', client: 1, takes: 0, times: 1, size: 0 },
        { at: 0, do: 'still', for: 2_983 },
        { at: 0, do: 'close', client: 1 },
        { at: 0, do: 'away', for: 1 }
      ]
    }
  },
  {
    fault: 'In memory events of the future waited for an hour when the clock was set to their time',
    seed: 1_125,
    plan: {
      config: { ...PLAIN, carrier: 'memory' },
      steps: [
        {
          ...PUBLISH,
          at: 0,
          to: ['kept', 'filed'],
          hasId: true,
          pace: 'in turn',
          times: 2,
          keys: 20,
          delay: 60_000
        },
        { at: 0, do: 'hop', by: -3_600_000 },
        { at: 0, do: 'cancel', client: 0 },
        { at: 0, do: 'hop', by: 3_600_000 }
      ]
    }
  },
  {
    fault:
      'A service over an engine whose first start failed because the server was lost meanwhile told for ever that the server is lost, although its next start had succeeded',
    seed: 506,
    plan: {
      config: { ...PLAIN, carrier: 'nats' },
      steps: [
        { at: 0, do: 'still', for: 1_175 },
        { at: 0, do: 'join' },
        { at: 0, do: 'away', for: 1 }
      ]
    }
  },
  {
    fault:
      'Over Redis an event that had a delay waited an hour longer when the wall clock stepped back before it was sent',
    seed: 3_703,
    plan: {
      config: { ...PLAIN, carrier: 'redis', delay: 30 },
      steps: [
        { ...PUBLISH, at: 0, hasId: true, keys: 3, delay: 500 },
        { at: 0, do: 'hop', by: -3_600_000 },
        { at: 1_702, do: 'hop', by: 3_600_000 }
      ]
    }
  },
  {
    fault:
      'Over Kafka a client that was lost while it began to listen heard no answers, or failed with the error of its driver',
    seed: 18_995,
    plan: {
      config: { ...PLAIN, carrier: 'kafka', clients: 2, delay: 5 },
      steps: [
        { at: 212, do: 'channel', client: 0, to: 'total', values: 0, size: 0, pause: 0 },
        { at: 227, do: 'away', for: 1 }
      ]
    }
  },
  {
    fault: 'Over Redis the second event of a new client went to all processes of a service',
    seed: 3_022,
    plan: {
      config: { ...PLAIN, carrier: 'redis', clients: 2, services: 2, delay: 30 },
      steps: [
        {
          at: 0,
          do: 'deploy',
          service: 1,
          for: 1,
          options: { inFlight: 0, inFlightPerConnection: 0, concurrency: 1, attempts: 2, files: true }
        },
        { at: 96, do: 'emit', client: 1, takes: 0, times: 1, size: 0 },
        { at: 240, do: 'emit', client: 1, takes: 0, times: 1, size: 0 }
      ]
    }
  },
  {
    fault: 'A process that had lost its file ended by an error that nobody caught',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'sqlite' },
      steps: [
        { ...PUBLISH, at: 0, times: 3, takes: 5 },
        { at: 2, do: 'die' }
      ]
    }
  },
  {
    fault: 'In a file an event that had failed waited for hours when the wall clock had stepped back',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'sqlite', clients: 2 },
      steps: [
        {
          ...PUBLISH,
          at: 0,
          to: ['kept', 'filed'],
          hasId: true,
          pace: 'steadily',
          keys: 3,
          failures: 5,
          failing: 'later'
        },
        { at: 0, do: 'hop', by: -3_600_000 }
      ]
    }
  },
  {
    fault:
      'In memory an event that had failed waited for hours when the wall clock had stepped back while no service was there',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'memory' },
      steps: [
        { ...PUBLISH, at: 0, to: ['kept', 'filed'], hasId: true, pace: 'in turn', times: 2, failures: 5 },
        {
          at: 0,
          do: 'deploy',
          service: 0,
          for: 10_000,
          options: { inFlight: 0, inFlightPerConnection: 0, concurrency: 1, attempts: 2, files: false }
        },
        { at: 0, do: 'hop', by: -3_600_000 }
      ]
    }
  },
  {
    fault: 'Over Kafka an event that had failed waited for hours when the wall clock had stepped back',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'kafka' },
      steps: [
        { ...PUBLISH, at: 0, failures: 2 },
        { at: 30, do: 'hop', by: -600_000 }
      ]
    }
  },
  {
    fault: 'Over RabbitMQ an event that had failed waited for hours when the wall clock had stepped back',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'rabbitmq' },
      steps: [
        { ...PUBLISH, at: 0, failures: 2 },
        { at: 20, do: 'away', for: 1_000 },
        { at: 30, do: 'hop', by: -600_000 }
      ]
    }
  },
  {
    fault:
      'A process of Redis that had stopped asked again, half a minute later, when the last answer had been on its way',
    seed: 1,
    plan: {
      config: { ...PLAIN, carrier: 'redis', services: 2, ordered: true },
      steps: [{ at: 0, do: 'restart', service: 1, for: 1, times: 2 }]
    }
  },
  {
    fault: 'Over NATS an event became a dead letter that had never run, after thirty restarts',
    seed: 990,
    plan: {
      config: { ...PLAIN, carrier: 'nats', ordered: true },
      steps: [
        { at: 453, do: 'restart', service: 0, for: 1, times: 30 },
        { ...PUBLISH, at: 0, to: ['kept', 'filed'] }
      ]
    }
  },
  {
    fault: 'Events that clients of a WebSocket had sent were refused by a service that stopped',
    seed: 5_064,
    plan: {
      config: { ...PLAIN, carrier: 'websocket' },
      steps: [
        { ...REQUEST, at: 0, work: 'never' },
        { at: 0, do: 'freeze', client: 0, for: 3_000 },
        { at: 0, do: 'emit', client: 0, times: 1, takes: 0, size: 0 },
        { at: 0, do: 'restart', service: 0, for: 1, times: 1 }
      ]
    }
  },
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
        { ...REQUEST, at: 0, work: 'wait', takes: 2_367, times: 4 },
        { at: 0, do: 'emit', client: 0, times: 3, takes: 1, size: 0 },
        { ...REQUEST, at: 1 }
      ]
    }
  },
  {
    fault: 'A call that was cancelled before its connection was there was sent, and said that it had not run',
    seed: 800_490,
    plan: {
      config: { ...PLAIN, clients: 2, delay: 30 },
      steps: [
        { ...REQUEST, at: 0, client: 1, abort: 22 },
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
        { at: 0, do: 'emit', client: 1, times: 1, takes: 0, size: 0 },
        { at: 15, do: 'cut', client: 1 }
      ]
    }
  }
]
