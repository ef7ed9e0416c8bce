/**
 * Our ends, as users write them, for any runtime: `serve` answers gRPC, `app` answers Connect and gRPC-Web on the port of an
 * app; both print their port, and end with their standard input. `call PORT` does the checks.
 */
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto } from '@elysia-microservices/protobuf'
import { type Message, microservice, RpcError } from 'elysia-microservices'
import { CanceledError, connect, TimeoutError } from 'elysia-microservices/client'
import { listen, newApp } from '../../support/http-app.ts'
import { testsFolder } from '../../workspace.ts'
import { Answers, type Caller, type Failure, printChecks } from './checks.ts'

interface Text {
  readonly text: string
}

const LIMITS = { messageSize: 33_554_432, receiveBuffer: 67_108_864 }
const logger = { error: console.error, warn: console.error }
const proto = await loadProto({ files: `${testsFolder}interop/grpc/checks.proto` })
const [role, port] = process.argv.slice(2)

async function* texts(values: AsyncIterable<Text>): AsyncGenerator<string> {
  for await (const { text } of values) yield text
}

async function* values(all: AsyncIterable<string>): AsyncGenerator<Text> {
  for await (const text of all) yield { text }
}

function newService(transport: ReturnType<typeof grpc> | undefined) {
  const answers = new Answers()
  return microservice({ name: 'checks', logger, ...(transport && { transport }) })
    .message('checks.Checks/Echo', ({ data: { text }, headers, signal }: Message<Text>) => {
      if (text === 'fail')
        throw new RpcError({ code: 'NOT_FOUND', message: `No order of ${headers['x-user']}: ü` })
      if (text === 'wait') return answers.wait(signal)
      return { text: text === 'state' ? answers.state : text }
    })
    .message('checks.Checks/Down', ({ data: { text } }: Message<Text>) => values(answers.down(text)))
    .message('checks.Checks/Up', async ({ data }: Message<AsyncIterable<Text>>) => ({
      text: await answers.up(texts(data))
    }))
    .message('checks.Checks/Both', ({ data }: Message<AsyncIterable<Text>>) =>
      values(answers.both(texts(data)))
    )
}

function newCaller(): Caller {
  const client = connect({
    transport: grpc({ proto, host: '127.0.0.1', port: Number(port), limits: LIMITS }),
    logger,
    timeout: 60_000
  })
  return {
    async echo(text, { user, ...options } = {}) {
      const headers = user === undefined ? {} : { 'x-user': user }
      return ((await client.request('checks.Checks/Echo', { text }, { ...options, headers })) as Text).text
    },
    down: (text) => texts(client.stream<Text>('checks.Checks/Down', { text })),
    up: async (all) => ((await client.request('checks.Checks/Up', values(all))) as Text).text,
    both: (all) => texts(client.stream<Text>('checks.Checks/Both', values(all))),
    failure(error): Failure {
      const { message, code } = error as RpcError
      if (error instanceof TimeoutError) return { code: 'DEADLINE_EXCEEDED', message }
      return { code: error instanceof CanceledError ? 'CANCELLED' : code, message }
    },
    close: () => client.close()
  }
}

function print(listening: { readonly port: number }): void {
  console.log(JSON.stringify(listening))
  process.stdin.resume()
  process.stdin.once('end', () => process.exit(0))
}

if (role === 'call') {
  await printChecks(newCaller)
  process.exit(0)
} else if (role === 'app') {
  const app = newApp()
    .use(newService(undefined))
    .use(connectRpc({ proto, limits: { messageSize: LIMITS.messageSize } }))
  const { url } = await listen(app)
  print({ port: Number(new URL(url).port) })
} else {
  const transport = grpc({ proto, host: '127.0.0.1', port: 0, limits: LIMITS })
  await newService(transport).listen()
  print({ port: transport.address?.port ?? 0 })
}
