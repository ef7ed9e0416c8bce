/**
 * Checks all imports: packages import only lower packages, rooms only lower rooms or rooms of the same floor, and no
 * files import each other in a circle.
 */
import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import { packageFolders, rootFolder } from '../workspace.ts'
import { circlesIn, roomOf, type SourceFile, sourcesOf } from './imports.ts'

const packages = new Map(
  [...packageFolders].map(
    ([name, folder]) => [name, sourcesOf(path.join(rootFolder, folder, 'src'))] as const
  )
)

/** The packages that each package may import. A new package must be added here. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  transport: [],
  rsocket: ['transport'],
  tcp: ['transport', 'rsocket'],
  grpc: ['transport', 'rsocket', 'tcp', 'protobuf'],
  engine: ['transport'],
  'engine-tests': ['transport', 'elysia-microservices', 'telemetry', 'test-support'],
  kafka: ['transport', 'engine'],
  mqtt: ['transport', 'engine'],
  nats: ['transport', 'engine'],
  rabbitmq: ['transport', 'engine'],
  redis: ['transport', 'engine'],
  sqlite: ['transport', 'engine'],
  postgres: ['transport', 'engine', 'outbox'],
  outbox: ['transport'],
  protobuf: ['transport'],
  workers: ['transport'],
  'elysia-microservices': ['transport', 'tcp', 'workers'],
  websocket: ['transport', 'rsocket', 'elysia-microservices'],
  connect: ['transport', 'protobuf', 'elysia-microservices'],
  nestjs: ['transport', 'tcp'],
  telemetry: ['transport'],
  cli: ['transport', 'elysia-microservices', 'console', 'protobuf'],
  console: ['transport', 'elysia-microservices', 'websocket'],
  'create-elysia-microservices': [],
  'test-support': []
}

/**
 * The rooms (folders of `src`) of packages with floors, from the lowest floor; rooms of one floor do not import each
 * other.
 */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  rsocket: [
    ['host.ts'],
    ['balance', 'limits'],
    ['connection'],
    ['protocol'],
    ['options'],
    ['pool'],
    ['index.ts', 'session.ts', 'pool.ts', 'testing.ts']
  ],
  nats: [
    ['words'],
    ['options'],
    ['driver.ts'],
    ['connection'],
    ['engine.ts', 'durable'],
    ['nats.ts'],
    ['from-nest.ts'],
    ['index.ts', 'testing.ts']
  ],
  kafka: [
    ['words'],
    ['options'],
    ['driver.ts'],
    ['connection'],
    ['durable'],
    ['engine.ts'],
    ['kafka.ts'],
    ['from-nest.ts'],
    ['index.ts', 'testing.ts']
  ],
  mqtt: [
    ['words'],
    ['options'],
    ['driver.ts'],
    ['connection'],
    ['engine.ts'],
    ['mqtt.ts'],
    ['from-nest.ts'],
    ['index.ts', 'testing.ts']
  ],
  rabbitmq: [
    ['driver.ts'],
    ['words'],
    ['options'],
    ['connection'],
    ['engine.ts'],
    ['durable'],
    ['rabbitmq.ts'],
    ['from-nest.ts'],
    ['index.ts', 'testing.ts']
  ],
  redis: [
    ['words'],
    ['options'],
    ['driver.ts'],
    ['connection'],
    ['durable'],
    ['engine.ts'],
    ['redis.ts'],
    ['from-nest.ts'],
    ['index.ts', 'testing.ts']
  ],
  postgres: [['tables', 'options'], ['connection'], ['durable'], ['postgres.ts'], ['index.ts']],
  sqlite: [
    ['driver.ts'],
    ['log', 'options'],
    ['connection'],
    ['durable'],
    ['sqlite.ts'],
    ['index.ts', 'testing.ts']
  ],
  websocket: [
    ['wire', 'exposing.ts'],
    ['options.ts', 'server', 'client'],
    ['websocket.ts'],
    ['index.ts', 'client.ts', 'pool.ts', 'kit.ts', 'testing.ts']
  ],
  grpc: [
    ['http2', 'methods.ts'],
    ['wire', 'method-patterns.ts'],
    ['description.ts', 'options'],
    ['own'],
    ['server', 'client'],
    ['grpc.ts', 'nest'],
    ['from-nest.ts'],
    ['index.ts', 'kit.ts', 'testing.ts']
  ],
  protobuf: [
    ['proto.ts', 'proto-shapes.ts', 'words.ts', 'presence.ts'],
    ['options'],
    ['codec', 'descriptors'],
    ['schema', 'types', 'proto-files.ts'],
    ['load-proto.ts', 'service-proto.ts', 'proto-types.ts'],
    ['nest'],
    ['rpc'],
    ['index.ts', 'rpc.ts', 'sync.ts']
  ],
  connect: [['protocol'], ['options.ts', 'cors.ts'], ['server'], ['connect-rpc.ts'], ['index.ts']],
  tcp: [
    ['socket', 'nest'],
    ['options'],
    ['server', 'client'],
    ['tcp.ts'],
    ['from-nest.ts'],
    ['index.ts', 'kit.ts']
  ],
  'elysia-microservices': [
    ['short-form.ts', 'router', 'app'],
    ['schema', 'hooks', 'types', 'chaos', 'controller', 'description'],
    ['service'],
    ['client'],
    ['gateway'],
    ['index.ts', 'describe.ts', 'errors.ts', 'kit.ts', 'nest.ts', 'tcp.ts', 'testing.ts', 'program.ts']
  ]
}

/** The files of a package that may import TCP: the short form, and an entry point that only re-exports the package. */
const KNOWS_TCP = { 'elysia-microservices': ['short-form.ts', 'tcp.ts'], nestjs: ['short-form.ts'] }

function named(name: string): SourceFile[] {
  return packages.get(name) ?? []
}

describe('packages', () => {
  for (const [name, files] of packages) {
    it(`${name} imports only packages below it`, () => {
      assert.ok(BELOW[name] !== undefined, `${packageFolders.get(name)} is not in the table of this test`)
      const wrong = files.flatMap(({ file, imports }) =>
        imports
          .filter((given) => /^(@elysia-microservices\/|elysia-microservices)/.test(given))
          .filter((given) => !BELOW[name]?.includes(given.split('/')[given.startsWith('@') ? 1 : 0] ?? ''))
          .map((given) => `${file} imports ${given}`)
      )
      assert.deepEqual(wrong, [])
    })

    it(`${name} has no circle of files, not even of types`, () => {
      assert.deepEqual(circlesIn(files), [])
    })
  }

  for (const [name, allowed] of Object.entries(KNOWS_TCP)) {
    it(`${name} imports TCP in one file only, the one of the short form 'tcp'`, () => {
      const knowing = named(name).filter(({ imports }) =>
        imports.some((given) => given.startsWith('@elysia-microservices/tcp'))
      )
      assert.deepEqual(
        knowing.map(({ file }) => file),
        allowed
      )
    })
  }
})

describe('rooms', () => {
  for (const [name, floors] of Object.entries(FLOORS)) {
    const floorOf = (room: string) => floors.findIndex((rooms) => rooms.includes(room))

    it(`${name}: every room has a floor`, () => {
      const rooms = [...new Set(named(name).map(({ file }) => roomOf(file)))]
      assert.deepEqual(
        rooms.filter((room) => floorOf(room) === -1),
        []
      )
    })

    it(`${name}: imports go downwards, or sideways within a room or a floor`, () => {
      const upwards = named(name).flatMap(({ file, imports }) =>
        imports
          .filter((given) => given.endsWith('.ts') && floorOf(roomOf(given)) > floorOf(roomOf(file)))
          .map((given) => `${file} imports ${given}`)
      )
      assert.deepEqual(upwards, [])
    })
  }

  it('tcp: protocols do not import sockets, and sockets do not import protocols', () => {
    const forbidden: Readonly<Record<string, RegExp>> = {
      nest: /^(socket\/|node:net)/,
      socket: /^(nest\/|@elysia-microservices\/rsocket($|\/pool))/
    }
    const wrong = named('tcp').flatMap(({ file, imports }) =>
      imports
        .filter((given) => forbidden[roomOf(file)]?.test(given))
        .map((given) => `${file} imports ${given}`)
    )
    assert.deepEqual(wrong, [])
  })
})

describe('what runs in a browser', () => {
  /** Packages that run in any runtime, and the files of each that check which runtime it is. */
  const ASKS: Readonly<Record<string, readonly string[]>> = {
    transport: ['bytes/text.ts', 'next-turn.ts'],
    rsocket: ['host.ts']
  }
  for (const [name, asks] of Object.entries(ASKS))
    it(`${name} depends on no runtime: no module of Node, and process, setImmediate and Buffer only in ${asks.join(' and ')}`, () => {
      const wrong = named(name)
        .filter(({ file }) => file !== 'testing.ts')
        .flatMap(({ file, text, imports }) => {
          const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
          const words = [
            /\bprocess\s*[.[]/,
            /\bsetImmediate\b/,
            /\b(Bun|Deno)\s*\./,
            /(?<!\w)Buffer\b/,
            /\.unref\(/
          ]
          return [
            ...imports
              .filter((given) => given.startsWith('node:'))
              .map((given) => `${file} imports ${given}`),
            ...words
              .filter((word) => !asks.includes(file) && word.test(code))
              .map((word) => `${file} says ${word.source}`)
          ]
        })
      assert.deepEqual(wrong, [])
    })
})
