/** The command line over RabbitMQ. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { rootFolder } from '../workspace.ts'

const PROGRAM = join(rootFolder, 'packages/elysia-microservices/lib/program.js')

function run(...args: string[]) {
  return new Promise<{ readonly code: unknown; readonly out: string; readonly error: string }>((resolve) => {
    execFile('node', [PROGRAM, ...args], { cwd: rootFolder, timeout: 30_000 }, (error, out, stderr) =>
      resolve({ code: error === null ? 0 : error.code, out, error: stderr })
    )
  })
}

if (!isMissing('the command line over RabbitMQ', rabbitmqMissing()))
  it('the command line calls services over RabbitMQ, and reports that RabbitMQ cannot list dead letters', async () => {
    const { url } = await sharedRabbitmq()
    const logger = { error() {}, warn() {} }
    const service = microservice({ name: 'typed', transport: rabbitmq({ url: url }), logger }).message(
      'typed.add',
      ({ data }) => (data as number[]).reduce((a, b) => a + b, 0)
    )
    await service.listen()
    try {
      const [called, letters] = await Promise.all([
        run('call', url, 'typed.add', '[1,2]'),
        run('dead-letters', 'list', url, 'typed')
      ])
      assert.deepEqual([called.code, called.out.trim(), called.error], [0, '3', ''])
      assert.notEqual(letters.code, 0)
      assert.match(letters.error, /_elysia\.dead\.typed/)
    } finally {
      await service.stop()
    }
  })
