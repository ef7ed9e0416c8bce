/** `buf curl`, a program of others that calls each protocol with a `.proto`, or what reflection tells. Go builds it. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { isMissing, until } from '@elysia-microservices/test-support'
import { listen, newApp } from '../support/http-app.ts'
import { codeIn, newShop, shopProto } from './shop.ts'

const run = promisify(execFile)

/** Go's own package manager fetches this version. */
const PROGRAM = 'github.com/bufbuild/buf/cmd/buf@v1.75.0'
/** Kept between runs, because it takes minutes. */
const BIN = join(tmpdir(), 'elysia-microservices-buf-1.75.0')

/** Builds the program, if that has not been done yet. Returns its path. */
async function built(): Promise<string> {
  const program = join(BIN, 'buf')
  const env = { ...process.env, GOBIN: BIN, GOFLAGS: '-modcacherw' }
  if (!existsSync(program)) await run('go', ['install', PROGRAM], { env })
  return program
}

/** The output of the program; `code` is 8 times the code of a failed call. */
interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const missing = spawnSync('go', ['version']).status === 0 ? undefined : 'Go (go)'

if (!isMissing('buf curl', missing))
  describe('buf curl', () => {
    const folder = mkdtempSync(join(tmpdir(), 'other-languages-buf-'))
    let program: string
    let app: Awaited<ReturnType<typeof listen>>
    let service: ReturnType<typeof newShop>
    let address: string
    /** Streams and calls that were left. */
    let left = 0

    before(
      async () => {
        const proto = await shopProto()
        app = await listen(
          newApp()
            .use(newShop(() => void left++))
            .use(connectRpc({ proto }))
        )
        const transport = grpc({ proto, host: '127.0.0.1', port: 0, reflection: true })
        service = newShop(() => void left++, transport)
        await service.listen()
        address = `http://127.0.0.1:${transport.address!.port}`
        writeFileSync(join(folder, 'shop.proto'), codeIn('proto'))
        program = await built()
      },
      { timeout: 1_800_000 }
    )
    after(async () => {
      await app.stop()
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const ask = async (...words: readonly string[]): Promise<Ended> => {
      const env = { ...process.env, BUF_CACHE_DIR: join(folder, 'cache') }
      try {
        return { code: 0, ...(await run(program, ['curl', ...words], { cwd: folder, env, timeout: 60_000 })) }
      } catch (error) {
        return error as Ended
      }
    }

    const WAYS = {
      'Connect, with the .proto': ['--schema', 'shop.proto'],
      'gRPC-Web, with the .proto': ['--schema', 'shop.proto', '--protocol', 'grpcweb'],
      'gRPC, with the .proto': ['--schema', 'shop.proto', '--protocol', 'grpc', '--http2-prior-knowledge'],
      'gRPC, by reflection': ['--protocol', 'grpc', '--http2-prior-knowledge']
    }
    for (const [name, words] of Object.entries(WAYS))
      describe(`by ${name}`, () => {
        const call = (method: string, data: string, ...more: readonly string[]) => {
          const url = name.startsWith('gRPC,') ? address : app.url
          return ask(...words, ...more, '-d', data, `${url}/shop.v1.Orders/${method}`)
        }
        /** The values of a call, which are printed over several lines each. */
        const printed = async (...of: Parameters<typeof call>) => {
          const { stdout, stderr } = await call(...of)
          assert.equal(stderr, '')
          return stdout.split(/\n(?={)/).map((one) => JSON.parse(one))
        }

        it('gets an answer', async () => {
          assert.deepEqual(await printed('GetOrder', '{"id":"tea ü"}'), [{ id: 'tea ü', price: 4 }])
        })

        it('gets a stream', async () => {
          const prices = await printed('WatchOrders', '{"id":"7"}')
          assert.deepEqual(
            prices.map(({ price }) => price),
            [1, 2, 3]
          )
        })

        it('sends a stream', async () => {
          assert.deepEqual(await printed('AddOrders', '{"id":"8"} {"id":"9"}'), [{ count: 2 }])
        })

        it('gets errors with their details', async () => {
          const none = await call('GetOrder', '{"id":"0"}')
          assert.equal(none.code, 8 * 5)
          assert.match(none.stderr, /"not_found"[\s\S]*"There is no order 0"/)
          const gone = await call('GetOrder', '{"id":"gone"}')
          assert.equal(gone.code, 8 * 2)
          const { message, details } = JSON.parse(gone.stderr)
          assert.equal(message, 'No tea is left: ü')
          assert.deepEqual(
            details.map(({ type }: { type: string }) => type),
            ['google.rpc.ErrorInfo', 'google.protobuf.Value']
          )
        })

        it('ends at its deadline, and the handler knows', async () => {
          const before = left
          const { code, stderr } = await call('GetOrder', '{"id":"never"}', '--timeout', '1s')
          assert.equal(code, 8 * 4, stderr)
          await until('the handler knows that nobody waits any more', () => left === before + 1)
        })
      })

    it('lists services and methods', async () => {
      const words = [...WAYS['gRPC, by reflection'], address]
      const services = await ask('--list-services', ...words)
      assert.match(services.stdout, /^shop\.v1\.Orders$/m, services.stderr)
      const methods = await ask('--list-methods', ...words)
      assert.match(methods.stdout, /^shop\.v1\.Orders\/GetOrder$/m, methods.stderr)
    })
  })
