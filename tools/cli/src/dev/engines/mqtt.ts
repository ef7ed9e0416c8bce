import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../programs.ts'
import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** A CONNECT packet of MQTT 5 without a client id; the server assigns one. */
const CONNECT = Buffer.from([0x10, 13, 0, 4, ...Buffer.from('MQTT'), 5, 2, 0, 10, 0, 0, 0])
const CONNACK = '\x20'

/** Mosquitto. */
export const mqtt: Engine = {
  name: 'mqtt',
  title: 'MQTT',
  variable: 'MQTT_URL',
  port: 1883,
  neededBy: ['@elysia-microservices/mqtt'],
  install: 'brew install mosquitto, or apt install mosquitto',
  isFoundByPort: true,
  url: (port) => `mqtt://127.0.0.1:${port}`,
  // A server that wants a password refuses the connection with CONNACK, too.
  probe: (host, port) => probe(host, port, CONNECT, (answer) => answer.startsWith(CONNACK)),
  // Debian installs mosquitto into folders that are only on root's PATH.
  find: (_root, folders) => findProgram(['mosquitto'], [...folders, '/usr/sbin', '/usr/local/sbin']),
  async start({ root, found, port, folder }) {
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'mosquitto.conf')
    const lines = [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'set_tcp_nodelay true',
      'persistence true',
      `persistence_location ${folder}/`
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return { file: found, args: ['-c', file], cwd: root, env: process.env }
  }
}
