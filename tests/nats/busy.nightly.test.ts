/** A caller over NATS that is busy for long while a service on another process sends it large values. */
import { describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing } from '@elysia-microservices/test-support'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { ServerProcess } from '../support/server-process.ts'
import { RunRecord } from '../torture/support/record.ts'

if (!isMissing('a busy caller over NATS', natsMissing()))
  describe('over NATS', () => {
    it('a caller with many streams of large values that is busy for a while is not disconnected', async () => {
      const server = await NatsServerProcess.start()
      const record = new RunRecord()
      const service = new ServerProcess({
        program: 'torture/brokers/request-service',
        arguments: () => [server.url, record.path]
      })
      await service.start()
      const client = connect({ transport: nats({ url: server.url }) })
      try {
        const streams = Array.from({ length: 100 }, () =>
          client.stream('endless', 100_000)[Symbol.asyncIterator]()
        )
        const read = () => Promise.all(streams.map((stream) => stream.next()))
        await read()
        // Far longer than the service needs to send all that it may; a NATS server buffers 64 MiB of it.
        for (const end = performance.now() + 2_000; performance.now() < end; );
        for (let turn = 0; turn < 20; turn++) await read()
        await Promise.all(streams.map((stream) => stream.return?.()))
      } finally {
        await client.close()
        await service.stop('SIGKILL')
        await server.stop()
        record.remove()
      }
    })
  })
