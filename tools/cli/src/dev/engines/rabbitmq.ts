import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** The first bytes that a client of AMQP 0-9-1 sends. */
const GREETING = Uint8Array.of(...Buffer.from('AMQP'), 0, 0, 9, 1)

/**
 * RabbitMQ. `dev` finds RabbitMQ but does not start it, because it leaves a process behind that manages all Erlang
 * nodes of the machine.
 */
export const rabbitmq: Engine = {
  name: 'rabbitmq',
  title: 'RabbitMQ',
  variable: 'RABBITMQ_URL',
  port: 5672,
  neededBy: ['@elysia-microservices/rabbitmq'],
  install:
    'start one (apt install rabbitmq-server, brew install rabbitmq, or docker run -p 5672:5672 rabbitmq)',
  isFoundByPort: true,
  hasUsers: true,
  url: (port) => `amqp://127.0.0.1:${port}`,
  // The answer is a method frame on channel 0.
  probe: (host, port) => probe(host, port, GREETING, (answer) => answer.startsWith('\x01\0\0')),
  find: () => undefined,
  start: () => Promise.reject(new Error('RabbitMQ is not started by dev'))
}
