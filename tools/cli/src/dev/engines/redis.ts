import { mkdirSync } from 'node:fs'
import { findProgram } from '../programs.ts'
import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** Redis, or Valkey. */
export const redis: Engine = {
  name: 'redis',
  title: 'Redis',
  variable: 'REDIS_URL',
  port: 6379,
  neededBy: ['@elysia-microservices/redis'],
  install: 'brew install valkey, or apt install valkey-server or redis-server',
  isFoundByPort: true,
  url: (port) => `redis://127.0.0.1:${port}`,
  // A server that wants a password answers with an error of Redis, too.
  probe: (host, port) =>
    probe(host, port, Buffer.from('PING\r\n'), (answer) => /^(\+PONG|-NOAUTH|-DENIED|-LOADING)/.test(answer)),
  find: (_root, folders) => findProgram(['valkey-server', 'redis-server'], folders),
  async start({ root, found, port, folder }) {
    mkdirSync(folder, { recursive: true })
    const stored = ['--dir', folder, '--appendonly', 'yes', '--save', '']
    return {
      file: found,
      args: ['--bind', '127.0.0.1', '--port', String(port), ...stored],
      cwd: root,
      env: process.env
    }
  }
}
