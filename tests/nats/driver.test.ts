/** The driver over nats-server keeps what its interface promises; the fake of it passes the same cases. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { driverCases, natsIo } from '@elysia-microservices/nats/testing'
import { isMissing, pause, until } from '@elysia-microservices/test-support'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { ownFolder } from '../support/own-folder.ts'

const NOT = '{ deny: ["cases.forbidden"] }'
const CONFIG = `
  no_auth_user: any
  authorization { users: [{ user: any, password: any, permissions: { publish: ${NOT}, subscribe: ${NOT} } }] }`

/** The bytes of a consumer that has delivered nothing. */
const NOTHING_DELIVERED = 8
const folder = ownFolder('nats')
let server: NatsServerProcess | undefined
after(() => server?.stop())

async function start(): Promise<NatsServerProcess> {
  const file = join(folder, 'server.conf')
  writeFileSync(file, CONFIG)
  return NatsServerProcess.start('-js', '-sd', folder, '-c', file)
}

/** Whether the server has written a delivery of a consumer, which it does a moment later. */
function isWritten(stream: string, consumer: string): boolean {
  const path = join(folder, 'jetstream/$G/streams', stream, 'obs', consumer, 'o.dat')
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > NOTHING_DELIVERED
}

if (!isMissing('the driver of NATS', natsMissing()))
  driverCases('nats-server', async () => {
    server ??= await start()
    const running = server
    return {
      driver: natsIo,
      url: running.url,
      async restart(delivered) {
        if (delivered !== undefined) await until('the delivery is written', () => isWritten(...delivered))
        await running.stop()
        await running.start()
      },
      // A timer may end a moment before the clock of another process says so.
      pass: (milliseconds) => pause(milliseconds + 20)
    }
  })
