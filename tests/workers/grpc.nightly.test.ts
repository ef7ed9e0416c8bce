/** Workers that share a port of gRPC: all of them answer, and all get a new certificate. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto, type Proto } from '@elysia-microservices/protobuf'
import { until, within } from '@elysia-microservices/test-support'
import { connect } from 'elysia-microservices/client'
import { programFile, testsFolder } from '../workspace.ts'

const certificates = `${testsFolder}/fixtures/tls`
const protos = `${testsFolder}/../packages/grpc/src/testing/protos`
const ca = readFileSync(`${certificates}/authority.pem`)

describe('workers with gRPC', () => {
  let program: ChildProcess
  let proto: Proto
  let port = 0
  const facts: { readonly port?: number; readonly renewed?: boolean }[] = []
  let log = ''

  before(async () => {
    proto = await loadProto({ files: `${protos}/shop/orders.proto`, includeDirs: [protos] })
    program = spawn(process.execPath, [programFile('workers/grpc-program'), certificates, protos], {
      cwd: testsFolder,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    createInterface({ input: program.stdout! }).on('line', (line) => facts.push(JSON.parse(line)))
    program.stderr!.on('data', (chunk) => (log += chunk))
    await until('it listens', () => {
      assert.equal(program.exitCode, null, log)
      return facts[0]?.port !== undefined
    })
    port = facts[0]?.port as number
  })
  after(async () => {
    const ended = new Promise((resolve) => program.once('close', resolve))
    program.kill('SIGTERM')
    await within(ended, 'the end of the program')
  })

  /** The process that answers over a new connection. */
  const answering = async (): Promise<number> => {
    const client = connect({ transport: grpc({ proto, host: 'localhost', port, tls: { ca } }) })
    const { cents } = await client.request<{ cents: string | number }>(
      'shop.Orders/GetTotal',
      {},
      { idempotent: true }
    )
    await client.close()
    return Number(cents)
  }
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['h2'] }, () => {
        assert.equal(socket.alpnProtocol, 'h2')
        resolve(socket.getPeerCertificate().serialNumber)
        socket.destroy()
      })
      socket.on('error', reject)
    })

  it('answer both, and never the supervisor', async () => {
    const pids = new Set<number>()
    await until('both answer', async () => pids.add(await answering()).size === 2)
    assert.ok(!pids.has(program.pid as number))
  })

  it('get the new certificate of the supervisor', async () => {
    const old = await serial()
    program.kill('SIGWINCH')
    await until('it is told', () => facts.some(({ renewed }) => renewed))
    for (let at = 0; at < 16; at++) assert.notEqual(await serial(), old)
    assert.ok((await answering()) > 0)
  })

  it('are replaced when one is killed', async () => {
    const victim = await answering()
    process.kill(victim, 'SIGKILL')
    const pids = new Set<number>()
    await until('two others answer', async () => {
      pids.add(await answering())
      pids.delete(victim)
      return pids.size === 2
    })
  })
})
