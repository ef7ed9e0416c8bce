/**
 * `shutdownOn`: a signal stops all services, the process ends after the last has stopped, and a second signal ends it
 * at once.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { isOnPush, Log, within } from '@elysia-microservices/test-support'
import { connect } from 'elysia-microservices/client'
import { programArguments, testsFolder, underBun } from '../workspace.ts'

/**
 * Starts the program. Each of its services has a request in flight that takes this many milliseconds, or until the
 * service stops.
 */
async function startBusy(apps: number, time: number | 'until told' | 'until told twice') {
  const args = [...programArguments('apps/shutdown-program'), String(apps)]
  const running = spawn(process.execPath, args, { cwd: testsFolder, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = new Log()
  for (const stream of [running.stdout, running.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n')) log.add(line)
    })
  }
  await within(log.has('['), 'The ports')
  const ports = JSON.parse(log.lines.find((line) => line.startsWith('[')) as string) as number[]
  const clients = ports.map((port) => connect({ host: '127.0.0.1', port, reconnect: false }))
  const answers = clients.map((client) => client.request('slow', time).catch((error: Error) => error.name))
  await within(Promise.all([log.has('orders waits'), log.has('users waits')]), 'The requests')
  return { running, log, exited: once(running, 'exit'), answers, clients }
}

// On a push Node, whose processes take long to start, leaves one app to Bun.
for (const apps of isOnPush && !underBun ? [0, 2] : [0, 1, 2]) {
  describe(`services that shut down at a signal, in ${apps} apps`, () => {
    it('finish the calls in flight, log this, and end the process', async () => {
      const { running, log, exited, answers, clients } = await startBusy(apps, 'until told')
      running.kill('SIGTERM')
      assert.deepEqual(await Promise.all(answers), ['orders has answered', 'users has answered'])
      await Promise.all(clients.map((client) => client.close()))
      assert.deepEqual(await within(exited, 'The end'), [0, null], log.lines.join('\n'))
      const text = log.lines.join('\n')
      assert.match(text, /SIGTERM: The service 'orders' stops; messages in flight: 1/)
      assert.match(text, /The service 'users' has stopped after \d+ ms$/m)
    })

    it('are not cut off by a copy of the signal, as npm sends it', async () => {
      const { running, log, exited, answers, clients } = await startBusy(apps, 'until told twice')
      running.kill('SIGTERM')
      assert.deepEqual(await Promise.all(answers), ['orders has answered', 'users has answered'])
      await Promise.all(clients.map((client) => client.close()))
      assert.deepEqual(await within(exited, 'The end'), [0, null], log.lines.join('\n'))
    })

    it('end at once at a second signal', async () => {
      const { running, log, exited, answers, clients } = await startBusy(apps, 60_000)
      running.kill('SIGTERM')
      await within(log.has("SIGTERM: The service 'users' stops"), 'The beginning')
      // Signals soon after the first one are copies of it.
      const again = setInterval(() => running.kill('SIGTERM'), 50)
      assert.deepEqual(await within(exited, 'The end'), [143, null])
      clearInterval(again)
      assert.deepEqual(await Promise.all(answers), ['ConnectionError', 'ConnectionError'])
      await Promise.all(clients.map((client) => client.close()))
    })
  })
}

describe('a service that shuts down at a signal', () => {
  it('reacts to it while it is starting, and closes what it has opened', async () => {
    const args = programArguments('apps/starting-program')
    const running = spawn(process.execPath, args, { cwd: testsFolder, stdio: 'pipe' })
    const log = new Log()
    for (const stream of [running.stdout, running.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) log.add(line)
      })
    const exited = once(running, 'exit')
    await within(log.has('starting'), 'The start')
    running.kill('SIGTERM')
    await within(log.has('SIGTERM'), 'The stop')
    running.stdin.end('\n')
    assert.deepEqual(await within(exited, 'The end'), [0, null], log.lines.join('\n'))
    await log.has('cleaned up')
  })
})
