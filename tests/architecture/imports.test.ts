/** What may import what: packages downwards, rooms downwards or sideways, files never in a circle. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { rootFolder } from '../workspace.ts'
import { circlesIn, roomOf, type SourceFile, sourcesOf } from './imports.ts'

const packagesFolder = path.join(rootFolder, 'packages')
const packages = new Map(
  readdirSync(packagesFolder)
    .filter((name) => existsSync(path.join(packagesFolder, name, 'src')))
    .map((name) => [name, sourcesOf(path.join(packagesFolder, name, 'src'))] as const)
)

/** Which of our packages a package may import. One that is not named here has to be added. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  transport: [],
  tcp: ['transport'],
  nats: ['transport'],
  outbox: ['transport'],
  'elysia-microservices': ['transport', 'tcp'],
  nestjs: ['transport', 'tcp'],
  telemetry: ['transport'],
  console: ['transport', 'elysia-microservices'],
  'create-elysia-microservices': []
}

/** The rooms of packages that have floors, from the lowest; rooms of one floor do not know each other. */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  tcp: [
    ['outside.ts'],
    ['socket', 'balance', 'limits'],
    ['connection'],
    ['nest', 'rsocket'],
    ['options'],
    ['server', 'client'],
    ['tcp.ts'],
    ['index.ts', 'kit.ts']
  ],
  'elysia-microservices': [
    ['short-form.ts', 'router', 'app'],
    ['schema', 'hooks', 'types', 'chaos', 'controller', 'workers', 'description'],
    ['service'],
    ['client'],
    ['gateway', 'cli'],
    ['index.ts', 'kit.ts', 'tcp.ts']
  ]
}

/** The files of a package that may know TCP: the short form, and an entry point that only passes the package on. */
const KNOWS_TCP = { 'elysia-microservices': ['short-form.ts', 'tcp.ts'], nestjs: ['short-form.ts'] }

function named(name: string): SourceFile[] {
  return packages.get(name) ?? []
}

describe('packages', () => {
  for (const [name, files] of packages) {
    it(`${name} imports only packages below it`, () => {
      assert.ok(BELOW[name] !== undefined, `packages/${name} is not in the table of this test`)
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
    it(`${name} knows TCP in one file, which makes 'tcp' the short form`, () => {
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

  it('tcp: protocols know no sockets, and sockets no protocols', () => {
    const wrong = named('tcp').flatMap(({ file, imports }) =>
      imports
        .filter((given) => {
          const [room, other] = [roomOf(file), roomOf(given)]
          const isProtocol = room === 'nest' || room === 'rsocket'
          return (
            (isProtocol && (other === 'socket' || given.startsWith('node:net'))) ||
            (room === 'nest' && other === 'rsocket')
          )
        })
        .map((given) => `${file} imports ${given}`)
    )
    assert.deepEqual(wrong, [])
  })
})

describe('the contract', () => {
  it('knows no runtime: no module of Node, no process, no setImmediate, and Buffer in one file', () => {
    const wrong = named('transport').flatMap(({ file, text, imports }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      return [
        ...imports.filter((given) => given.startsWith('node:')).map((given) => `${file} imports ${given}`),
        ...[/\bprocess\s*[.[]/, /\bsetImmediate\b/, /\b(Bun|Deno)\s*\./, /(?<!\w)Buffer\b/]
          .filter((word) => word.test(code))
          .filter((word) => !(word.source.includes('Buffer') && file === 'bytes/text.ts'))
          .map((word) => `${file} says ${word.source}`)
      ]
    })
    assert.deepEqual(wrong, [])
  })
})
