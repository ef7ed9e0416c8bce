/** RabbitMQ as a transport: its abilities, and which processes of a service share. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Dispatcher } from '@elysia-microservices/transport/kit'
import { fromNest } from './from-nest.ts'
import type { RabbitmqOptions } from './options/options.ts'
import { rabbitmq, rabbitmqBy } from './rabbitmq.ts'
import { FakeRabbitServer } from './testing/fake-server.ts'

const LOGGER = { error() {}, warn() {} }
const DISPATCHER: Dispatcher = {
  routes: () => [
    { kind: 'message', route: 'asked' },
    { kind: 'event', route: 'told' }
  ],
  request: () => undefined,
  event() {}
}

/** The queues of a service, those of one process without their secrets. */
async function queuesOf(options: RabbitmqOptions): Promise<string[]> {
  const server = new FakeRabbitServer()
  const transport = rabbitmqBy(server.driver, options)
  const service = transport.server({ name: 'n', version: undefined, logger: LOGGER })
  await service.start(DISPATCHER)
  const queues = [...server.queues.keys()].map((name) => name.replace(/\.[a-z2-7]{12,}$/, ' and a secret'))
  await service.stop()
  return queues.sort()
}

it('can do what its page says', () => {
  assert.deepEqual(rabbitmq().traits, {
    wildcards: true,
    hearsNobody: true,
    shares: 'engine',
    sharesRequests: false,
    headers: true,
    channels: true,
    answerHeaders: true,
    stores: {
      once: false,
      positions: false,
      delays: true,
      future: false,
      transactions: false,
      wildcards: true,
      browses: false,
      start: ['new']
    }
  })
})

it('has a queue of the service for each pattern, to which alone its user has rights', async () => {
  const own = (await queuesOf({})).filter((name) => name.startsWith('_elysia.s.'))
  assert.deepEqual(own, ['_elysia.s.n:asked', '_elysia.s.n:told'])
})

it('gives an event to a queue of each process if every process is to get it', async () => {
  const own = (await queuesOf({ events: 'every-process' })).filter((name) => name.startsWith('_elysia.s.'))
  assert.deepEqual(own, ['_elysia.s.n:asked'])
})

it('with the options of NestJS has the group that it is given, or else that of the shared queue', () => {
  const groups = [{ queue: 'q' }, {}, { queue: '', exchange: 'e' }].map((given) => fromNest(given).group)
  assert.deepEqual(groups, ['q', 'default', undefined])
})
