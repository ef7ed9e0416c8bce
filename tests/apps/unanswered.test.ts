/**
 * A server that is none: it says nothing, speaks another protocol, closes connections, or is not there. What connects to
 * it is told so, may be closed meanwhile, and does not keep its process from ending.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { freePort, within } from '@elysia-microservices/test-support'
import { programFile, testsFolder } from '../workspace.ts'

const WAYS = ['nats', 'redis', 'rabbitmq', 'kafka', 'mqtt', 'tcp', 'postgres']

/** Names that the errors have for each way. */
const TITLES: Readonly<Record<string, string>> = {
  nats: 'Cannot reach NATS at 127.0.0.1:',
  redis: 'Cannot reach Redis at 127.0.0.1:',
  rabbitmq: 'Cannot reach RabbitMQ at 127.0.0.1:',
  kafka: 'Cannot reach Kafka at 127.0.0.1:',
  mqtt: 'Cannot reach MQTT at 127.0.0.1:',
  tcp: '(Cannot connect|The connection) to tcp://127.0.0.1:'
}

interface Line {
  readonly way: string
  readonly kind: string
  readonly of: string
  readonly outcome: string
}

describe('where there is no server of the right kind', () => {
  const servers: net.Server[] = []
  const sockets = new Set<net.Socket>()
  let running: ChildProcess
  let lines: Line[]

  /** A server that keeps its side of each connection open. */
  async function serve(answer: (socket: net.Socket) => void): Promise<number> {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.resume()
      answer(socket)
    })
    servers.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as net.AddressInfo).port
  }

  before(async () => {
    const ports: Record<string, Record<string, number>> = {}
    const garbage = await serve((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const closing = await serve((socket) => void socket.end())
    const refused = await freePort()
    for (const way of WAYS) {
      const silent = await serve(({ localPort }) => running.connected && running.send(localPort as number))
      ports[way] = { silent, garbage, closing, refused }
    }
    running = spawn(process.execPath, [programFile('apps/unanswered-program'), JSON.stringify(ports)], {
      cwd: testsFolder,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc']
    })
    let output = ''
    running.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const [code] = await within(once(running, 'close'), `The end of the program, after ${output}`)
    assert.equal(code, 0, output)
    lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  })

  after(() => {
    running.kill('SIGKILL')
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  for (const way of WAYS) {
    it(`${way}: a client or a service that waits is told, and one that is closed meanwhile does not wait`, () => {
      const own = lines.filter((line) => line.way === way)
      const closed = own.filter(({ kind }) => kind === 'closed')
      assert.ok(closed.length > 0)
      for (const { of, outcome } of closed)
        assert.match(outcome, /^ConnectionError: .*(is closed|was closed|was stopped)/, of)
      const others = own.filter(({ kind }) => kind !== 'closed')
      assert.equal(others.length, way === 'postgres' ? 0 : way === 'tcp' ? 4 : 8)
      for (const { of, kind, outcome } of others) {
        // Where, what was wrong, and what to do.
        const advice = way === 'tcp' && kind === 'refused' ? '' : '[;,] .+'
        assert.match(
          outcome,
          new RegExp(`^ConnectionError: ${TITLES[way]}\\d+.*: .+${advice}`),
          `${of}, ${kind}`
        )
        if (kind === 'silent') assert.match(outcome, /not answered within|sent nothing for/, of)
      }
    })
  }
})
