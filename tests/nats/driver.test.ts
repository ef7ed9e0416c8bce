/** The driver over nats-server keeps what its interface promises; the fake of it passes the same cases. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { driverCases, natsIo } from '@elysia-microservices/nats/testing'
import { isMissing, pause } from '@elysia-microservices/test-support'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { ownFolder } from '../support/own-folder.ts'

const NOT = '{ deny: ["cases.forbidden"] }'
const CONFIG = `
  no_auth_user: any
  authorization { users: [{ user: any, password: any, permissions: { publish: ${NOT}, subscribe: ${NOT} } }] }`

let server: NatsServerProcess | undefined
after(() => server?.stop())

async function start(): Promise<NatsServerProcess> {
  const folder = ownFolder('nats')
  const file = join(folder, 'server.conf')
  writeFileSync(file, CONFIG)
  return NatsServerProcess.start('-js', '-sd', folder, '-c', file)
}

if (!isMissing('the driver of NATS', natsMissing()))
  driverCases('nats-server', async () => {
    server ??= await start()
    const running = server
    return {
      driver: natsIo,
      url: running.url,
      async restart() {
        await running.stop()
        await running.start()
      },
      pass: pause
    }
  })
