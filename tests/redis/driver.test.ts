/** The driver over redis-server keeps what its interface promises; the fake of it passes the same cases. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { driverCases, ioredis } from '@elysia-microservices/redis/testing'
import { isMissing, pause } from '@elysia-microservices/test-support'
import { keepsIn, RedisServerProcess, redisMissing } from '../support/redis-server.ts'

let server: RedisServerProcess | undefined
let folder: string | undefined
after(async () => {
  await server?.stop()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

if (!isMissing('the driver of Redis', redisMissing()))
  driverCases('redis-server', async () => {
    folder ??= await mkdtemp(join(tmpdir(), 'redis-'))
    server ??= await RedisServerProcess.start(...keepsIn(folder))
    const { url } = server
    return {
      driver: ioredis,
      url,
      async restart() {
        await server?.stop()
        await server?.start()
      },
      // A timer may end a moment before the clock of another process says so.
      pass: (milliseconds) => pause(milliseconds + 20)
    }
  })
