/** RSocket with rsocket-py, software nobody here wrote: it asks our server, and answers our client. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { microservice, RpcError } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { lastValueFrom, toArray } from 'rxjs'
import { testsFolder, underBun } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'interop/python')
/** One for each runtime: the two may run at the same time. */
const environment = join(folder, `.venv-${underBun ? 'bun' : 'node'}`)
const python = join(environment, 'bin/python')
const peer = join(folder, 'peer.py')

const found = spawnSync('python3', ['-m', 'venv', '--help']).status === 0
if (!found) {
  // Where tests must be complete, an absent toolchain is a failure; elsewhere it is said and left out.
  assert.ok(!process.env['CI'], 'python3 with venv is needed to run the interop tests with rsocket-py')
  console.log('Left out: the interop tests with rsocket-py, because there is no python3 with venv')
}

/** Makes the environment with the pinned packages, unless it is there. */
async function install(): Promise<void> {
  if (existsSync(join(environment, 'installed'))) return
  await run('python3', ['-m', 'venv', environment])
  const requirements = join(folder, 'requirements.txt')
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements])
  await run(python, ['-c', `open(${JSON.stringify(join(environment, 'installed'))}, 'w').close()`])
}

if (found) {
  describe('rsocket-py asks our server', () => {
    const said = new Map<string, unknown[]>()
    const events: unknown[] = []
    before(async () => {
      await install()
      const silent = { error() {}, warn() {} }
      const service = microservice({
        transport: 'tcp',
        host: '127.0.0.1',
        port: 0,
        fragmentSize: 1_000,
        logger: silent
      })
        .message('echo', ({ data }) => data)
        .message('count', async function* ({ data }: { data: number }) {
          for (let n = 0; n < data; n++) yield n
        })
        .message('fail', () => {
          throw new RpcError({ code: 'E', message: 'm' })
        })
        .message('bug', () => {
          throw new Error('secret')
        })
        .event('event', ({ data }) => events.push(data))
      await service.listen()
      const { stdout } = await run(python, [peer, 'client', String(service.address!.port)], {
        timeout: 30_000
      })
      await service.stop()
      for (const line of stdout.trim().split('\n')) {
        const [name, value] = JSON.parse(line) as [string, unknown]
        said.set(name, [...(said.get(name) ?? []), value])
      }
    })

    it('gets answers, unicode included', () => {
      assert.deepEqual(said.get('response'), ['text €😀', { a: [1, null, false] }])
    })

    it('gets a megabyte back, in fragments both ways', () => assert.deepEqual(said.get('megabyte'), [true]))

    it('gets all values of a stream, three at a time', () => {
      assert.deepEqual(said.get('stream'), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
    })

    it('gets errors: what a handler says, nothing of what it does not, and an unknown route', () => {
      assert.deepEqual(said.get('fail'), ['{"code":"E","message":"m"}'])
      assert.deepEqual(said.get('bug'), ['{"code":"INTERNAL","message":"Internal server error"}'])
      assert.match(String(said.get('nobody')), /PATTERN_NOT_FOUND/)
    })

    it('fires and forgets', () => {
      assert.deepEqual(said.get('after the event'), [1])
      assert.deepEqual(events, [{ id: 7 }])
    })
  })

  describe('rsocket-py answers our client', () => {
    let server: ChildProcess
    let lines: Interface
    let client: UntypedClient
    before(async () => {
      await install()
      server = spawn(python, [peer, 'server'], { stdio: ['pipe', 'pipe', 'ignore'] })
      lines = createInterface({ input: server.stdout! })
      const [, port] = await nextLine()
      client = connect({ host: '127.0.0.1', port: port as number, fragmentSize: 1_000 })
    })
    after(async () => {
      await client.close()
      const exited = once(server, 'exit')
      server.stdin!.end()
      await exited
    })

    async function nextLine(): Promise<[string, unknown]> {
      const [line] = (await once(lines, 'line')) as [string]
      return JSON.parse(line) as [string, unknown]
    }

    it('gives answers, unicode included', async () => {
      const data = { text: '€😀', list: [1, null, false] }
      assert.deepEqual(await client.request('echo', data), data)
    })

    it('gives a megabyte back, in fragments both ways', async () => {
      const data = 'é'.repeat(500_000)
      assert.equal(await client.request('echo', data), data)
    })

    it('gives the values of a stream, as far as they are asked for', async () => {
      const values = await lastValueFrom(client.send<number>('count', 300).pipe(toArray()))
      assert.deepEqual(values, [...Array(300).keys()])
      for await (const value of client.stream('count', 100_000)) if (value === 200) break
      assert.equal(await client.request('echo', 'still here'), 'still here')
    })

    it('gives errors', async () => {
      await assert.rejects(client.request('fail', 1), { name: 'RpcError', message: 'python says no' })
      await assert.rejects(client.request('nobody', 1), { name: 'RpcError' })
    })

    it('takes what is fired and forgotten', async () => {
      const line = nextLine()
      await client.emit('event', { id: 7 })
      assert.deepEqual(await line, ['event', { id: 7 }])
    })
  })
}
