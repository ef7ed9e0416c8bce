/** Processes end when they have nothing more to do or receive a signal, and otherwise log what keeps them alive. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { freePort, Log, within } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { programArguments, testsFolder } from '../workspace.ts'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('echo', ({ data }) => data)
  .message('live', async function* ({ signal }) {
    yield 'begun'
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })

/** Starts the program. When this resolves, the program has sent a request to the service and has opened a stream. */
async function startGateway(whose: string) {
  const { CI: _ci, TEST: _test, ...env } = process.env
  const args = [
    ...programArguments('apps/gateway-program'),
    String(service.address!.port),
    whose,
    String(await freePort())
  ]
  const running = spawn(process.execPath, args, { cwd: testsFolder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = new Log()
  running.stderr.setEncoding('utf8').on('data', (text: string) => log.add(text))
  const [line] = await once(createInterface({ input: running.stdout }), 'line')
  const { url } = JSON.parse(line as string) as { url: string }
  assert.equal((await fetch(`${url}/echo`)).status, 200)
  const stream = (await fetch(`${url}/live`)).body!.getReader()
  await stream.read()
  const exited = once(running, 'exit')
  return { running, log, exited, stream }
}

describe('a process with a gateway', () => {
  before(async () => void (await service.listen()))
  after(() => service.stop())

  for (const whose of ['made', 'closed']) {
    it(`ends after SIGTERM where the client is ${whose} by the gateway`, async () => {
      const { running, exited, stream, log } = await startGateway(whose)
      running.kill('SIGTERM')
      assert.equal((await stream.read()).done, true)
      assert.deepEqual(await within(exited, 'The end'), [0, null], log.lines.join('\n'))
    })
  }

  it('logs that the client passed to the gateway keeps it alive', async () => {
    const { running, log, exited } = await startGateway('given')
    running.kill('SIGTERM')
    await within(log.has('1 of the clients given to its gateway are still connected'), 'The warning')
    running.kill('SIGKILL')
    await exited
  })
})

it('a process does not wait for the deadline of a call that was answered', async () => {
  const running = spawn(process.execPath, programArguments('apps/idle-program'), { cwd: testsFolder })
  const exited = once(running, 'exit')
  const [line] = await once(createInterface({ input: running.stdout }), 'line')
  assert.equal(line, 'answered')
  assert.deepEqual(await within(exited, 'The end'), [0, null])
})
