/** Tests the moves of sources in every form that applications have. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { migrate } from './command.ts'
import { compilerOf } from './compiler.ts'
import { type Edit, edited, unifiedDiff } from './edits.ts'
import { moved } from './source.ts'

const compiler = compilerOf(import.meta.dirname)
const IMPORT = "import { Transport } from '@nestjs/microservices'"
const OURS = "import { MicroserviceServer } from '@elysia-microservices/nestjs'"

/** Sources, and the same sources moved, without what all have in common. */
const SERVERS: Readonly<Record<string, readonly [string, string]>> = {
  'options in place': [
    'await NestFactory.createMicroservice(App, {\n  // the port\n  transport: Transport.RMQ,\n  options: { queue: `a` },\n})',
    'await NestFactory.createMicroservice(App, { strategy: new MicroserviceServer({\n  // the port\n  transport: Transport.RMQ,\n  options: { queue: `a` },\n}) })'
  ],
  'a hybrid application': [
    'app.connectMicroservice({ transport: Transport.TCP, options: { port } }, { inheritAppConfig: true })',
    'app.connectMicroservice({ strategy: new MicroserviceServer({ transport: Transport.TCP, options: { port } }) }, { inheritAppConfig: true })'
  ],
  'the type of one transport': [
    'app.connectMicroservice<RmqOptions>({ transport: Transport.RMQ })',
    'app.connectMicroservice({ strategy: new MicroserviceServer({ transport: Transport.RMQ }) })'
  ],
  'a test': [
    'fixture.createNestMicroservice<MicroserviceOptions>({ transport: Transport.NATS })',
    'fixture.createNestMicroservice<MicroserviceOptions>({ strategy: new MicroserviceServer({ transport: Transport.NATS }) })'
  ],
  'other options beside it': [
    'f.createMicroservice(App, {\n  logger,\n  transport: Transport.NATS,\n  options: {\n    queue: 1\n  },\n  bufferLogs: true\n})',
    'f.createMicroservice(App, {\n  logger,\n  strategy: new MicroserviceServer({\n    transport: Transport.NATS,\n    options: {\n      queue: 1\n    }\n  }),\n  bufferLogs: true\n})'
  ],
  'transport and options apart': [
    'f.createMicroservice(App, { transport: Transport.NATS, logger, options: o })',
    'f.createMicroservice(App, { strategy: new MicroserviceServer({ transport: Transport.NATS, options: o }), logger })'
  ],
  'no transport': [
    'f.createMicroservice(App, { options: { port } })',
    'f.createMicroservice(App, { strategy: new MicroserviceServer({ transport: Transport.TCP, options: { port } }) })'
  ],
  'no options': [
    'f.createMicroservice(App)',
    'f.createMicroservice(App, { strategy: new MicroserviceServer({ transport: Transport.TCP }) })'
  ],
  'a constant': [
    'const given: MicroserviceOptions = { transport: Transport.KAFKA, options: {} }\nf.createMicroservice(App, given)',
    'const given: MicroserviceOptions = { strategy: new MicroserviceServer({ transport: Transport.KAFKA, options: {} }) }\nf.createMicroservice(App, given)'
  ],
  'a constant that has more uses': [
    'const given = { transport: Transport.KAFKA, options: {} }\nf.createMicroservice(App, given)\nshow(given)',
    'const given = { transport: Transport.KAFKA, options: {} }\nf.createMicroservice(App, { strategy: new MicroserviceServer(given) })\nshow(given)'
  ],
  'spread options': [
    'f.createMicroservice(App, { ...base, options: { ...base.options, port } })',
    'f.createMicroservice(App, { strategy: new MicroserviceServer({ ...base, options: { ...base.options, port } }) })'
  ],
  'a factory': [
    'f.createMicroservice<AsyncMicroserviceOptions>(App, { inject: [ConfigService], useFactory: (c: ConfigService) => ({ transport: Transport.TCP, options: { port: c.get("P") } }) })',
    'f.createMicroservice<AsyncMicroserviceOptions>(App, { inject: [ConfigService], useFactory: (c: ConfigService) => ({ strategy: new MicroserviceServer({ transport: Transport.TCP, options: { port: c.get("P") } }) }) })'
  ],
  'a type beside the value': [
    'f.createMicroservice(App, { transport: Transport.TCP } as MicroserviceOptions)',
    'f.createMicroservice(App, { strategy: new MicroserviceServer({ transport: Transport.TCP }) } as MicroserviceOptions)'
  ]
}

const NEST_FACTORY = "import { NestFactory } from '@nestjs/core'"
const OUR_FACTORY = "import { NestFactory } from '@elysia-microservices/nestjs'"
/** Sources whose servers move by an import alone. */
const BY_IMPORT: Readonly<Record<string, string>> = {
  'options in place':
    'await NestFactory.createMicroservice(App, { logger, transport: Transport.RMQ, ...more })',
  'no options': 'NestFactory.createMicroservice(App)',
  'options from elsewhere': 'NestFactory.createMicroservice<MicroserviceOptions>(App, optionsOf(config))',
  'a factory': 'NestFactory.createMicroservice(App, { inject: [ConfigService], useFactory: optionsOf })',
  'a hybrid application':
    'const app = await NestFactory.create<NestFastifyApplication>(App, new FastifyAdapter())\napp.connectMicroservice<RmqOptions>({ transport: Transport.RMQ })'
}

const CLIENTS: Readonly<Record<string, readonly [string, string]>> = {
  'an array of clients': [
    "import { ClientsModule, Transport } from '@nestjs/microservices';\n@Module({ imports: [ClientsModule.register([{ name: 'A', transport: Transport.TCP }])] })\nclass M {}",
    "import { ClientsModule, Transport } from '@elysia-microservices/nestjs';\n@Module({ imports: [ClientsModule.register([{ name: 'A', transport: Transport.TCP }])] })\nclass M {}"
  ],
  'other names beside it': [
    "import { ClientsModule, Payload, Transport } from '@nestjs/microservices';\nClientsModule.register([])",
    "import { Payload, Transport } from '@nestjs/microservices';\nimport { ClientsModule } from '@elysia-microservices/nestjs';\nClientsModule.register([])"
  ],
  'nothing else of the package': [
    'import { ClientsModule } from "@nestjs/microservices"\nClientsModule.registerAsync([])',
    'import { ClientsModule } from "@elysia-microservices/nestjs"\nClientsModule.registerAsync([])'
  ],
  'another name': [
    "import {\n  Transport,\n  ClientProxyFactory as Factory,\n} from '@nestjs/microservices'\nFactory.create({ transport: Transport.TCP })",
    "import {\n  Transport,\n  ClientProxyFactory as Factory,\n} from '@elysia-microservices/nestjs'\nFactory.create({ transport: Transport.TCP })"
  ],
  CommonJS: [
    "const { Transport, ClientProxyFactory: Factory } = require('@nestjs/microservices');\nFactory.create({ transport: Transport.TCP });",
    "const { Transport, ClientProxyFactory: Factory } = require('@elysia-microservices/nestjs');\nFactory.create({ transport: Transport.TCP });"
  ],
  'the whole package': [
    "import * as ms from '@nestjs/microservices'\nms.ClientsModule.register([])",
    "import * as ms from '@nestjs/microservices'\nimport { ClientsModule } from '@elysia-microservices/nestjs'\nClientsModule.register([])"
  ],
  'a property': [
    "import { Client, Transport } from '@nestjs/microservices'\nclass A { @Client({ transport: Transport.TCP }) client: ClientProxy }",
    "import { Client, Transport } from '@elysia-microservices/nestjs'\nclass A { @Client({ transport: Transport.TCP }) client: ClientProxy }"
  ]
}

function text(source: string, name = 'src/main.ts'): string {
  return edited(source, moved(compiler, name, source).edits)
}

describe('migrate', () => {
  for (const [form, [before, after]] of Object.entries(SERVERS))
    it(`moves a server: ${form}`, () => {
      assert.equal(text(`${IMPORT}\n${before}\n`), `${IMPORT}\n${OURS}\n${after}\n`)
    })

  for (const [form, source] of Object.entries(BY_IMPORT))
    it(`moves a server by the import of NestFactory: ${form}`, () => {
      const after = text(`${NEST_FACTORY}\n${IMPORT}\n${source}\n`)
      assert.equal(after, `${OUR_FACTORY}\n${IMPORT}\n${source}\n`)
      assert.deepEqual(moved(compiler, 'a.ts', after).edits, [])
    })

  it('makes one import of all names that move', () => {
    assert.equal(
      text(
        `${NEST_FACTORY}\nimport { ClientProxyFactory, Payload } from '@nestjs/microservices'\nNestFactory.createMicroservice(App, options)`
      ),
      "import { NestFactory, ClientProxyFactory } from '@elysia-microservices/nestjs'\nimport { Payload } from '@nestjs/microservices'\nNestFactory.createMicroservice(App, options)"
    )
  })

  it('leaves a factory whose servers have strategies, or that makes none', () => {
    for (const source of [
      'NestFactory.createMicroservice(App, { strategy: new Mine() })',
      'NestFactory.create(App)'
    ])
      assert.deepEqual(moved(compiler, 'a.ts', `${NEST_FACTORY}\n${source}`).edits, [])
  })

  it('leaves the factory where a serializer stays with Nest, and moves the other servers there', () => {
    const stays = 'NestFactory.createMicroservice(A, { transport: Transport.TCP, options: { serializer } })'
    const other = (options: string) => `NestFactory.createMicroservice(B, ${options})`
    assert.equal(
      text(`${NEST_FACTORY}\n${IMPORT}\n${stays}\n${other('{ transport: Transport.TCP }')}`),
      `${NEST_FACTORY}\n${IMPORT}\n${OURS}\n${stays}\n${other('{ strategy: new MicroserviceServer({ transport: Transport.TCP }) }')}`
    )
  })

  for (const [form, [before, after]] of Object.entries(CLIENTS))
    it(`moves a client: ${form}`, () => assert.equal(text(before), after))

  it('changes nothing the second time', () => {
    const sources = [
      ...Object.values(SERVERS).map(([before]) => `${IMPORT}\n${before}`),
      ...Object.values(CLIENTS).map(([before]) => before)
    ]
    for (const source of sources) assert.deepEqual(moved(compiler, 'a.ts', text(source, 'a.ts')).edits, [])
  })

  it('keeps the line breaks, quotes and semicolons of a source', () => {
    const source =
      'import { Transport } from "@nestjs/microservices";\r\nf.createMicroservice(A, { transport: Transport.TCP });\r\n'
    assert.equal(
      text(source),
      'import { Transport } from "@nestjs/microservices";\r\nimport { MicroserviceServer } from "@elysia-microservices/nestjs";\r\nf.createMicroservice(A, { strategy: new MicroserviceServer({ transport: Transport.TCP }) });\r\n'
    )
  })

  it('leaves what it cannot move, and says where and why', () => {
    for (const [source, line, sentence] of [
      [
        `${IMPORT}\nf.createMicroservice(A, { transport: Transport.TCP,\noptions: { serializer } })`,
        3,
        /serializer/
      ],
      [
        "import { ClientsModule } from '@nestjs/microservices'\nClientsModule.register([\n{ deserializer: d }])",
        3,
        /stays Nest's/
      ],
      [`${IMPORT}\nnew ClientRMQ({})`, 2, /ClientRMQ is used directly/],
      [`${IMPORT}\nconst own = { customClass: Mine }`, 2, /Mine is your own/],
      [`${IMPORT}\nf.createMicroservice(A, { strategy: new Mine() })`, 2, /strategy is your own/]
    ] as const) {
      const { edits, remarks } = moved(compiler, 'a.ts', source)
      assert.deepEqual([edits, remarks[0]?.line], [[], line], source)
      assert.match(remarks[0]?.text ?? '', sentence)
    }
  })

  it('leaves other calls, also those that have names of methods of every object', () => {
    const source = `${IMPORT}\nid.toString()\nthing.hasOwnProperty('a').valueOf()\nmap.create({ transport: 1 })`
    assert.deepEqual(moved(compiler, 'a.ts', source), { edits: [], remarks: [], transports: [] })
  })

  it('leaves tests alone, unless they make servers', () => {
    const client = "import { ClientsModule } from '@nestjs/microservices'\nClientsModule.register([])"
    assert.deepEqual(moved(compiler, 'src/a.spec.ts', client).edits, [])
    const server = `${client}\nf.createMicroservice(A, options())`
    assert.equal(moved(compiler, 'test/a.e2e-spec.ts', server).edits.length, 4)
  })
})

describe('a unified diff', () => {
  it('shows the lines around an edit', () => {
    assert.equal(
      unifiedDiff('a.ts', '1\n2\n3\n4\n5\n6\n', [{ start: 8, end: 9, text: 'five\nand' }]),
      '--- a/a.ts\n+++ b/a.ts\n@@ -2,5 +2,6 @@\n 2\n 3\n 4\n-5\n+five\n+and\n 6'
    )
  })

  it('has exactly the lines of the old and the new text', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', ''), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(
        lines,
        fc.array(fc.nat(60), { maxLength: 6 }),
        fc.constantFrom('', 'x', 'x\ny', '\n'),
        (given, places, word) => {
          const source = `${given.join('\n')}\n`
          const at = [...new Set(places.map((place) => place % source.length))].sort((a, b) => a - b)
          const edits: Edit[] = at
            .map((start, index) => ({
              start,
              end: Math.min(start + 2, at[index + 1] ?? source.length - 1, source.length - 1),
              text: word
            }))
            .filter(({ start, end }) => end >= start)
          const [, , ...diff] = unifiedDiff('a', source, edits).split('\n')
          assert.equal(patched(source, diff), edited(source, edits))
        }
      )
    )
  })
})

/** Applies a diff, as `patch` does, and checks the lines that it names. */
function patched(source: string, diff: readonly string[]): string {
  const old = source.split('\n').slice(0, -1)
  const made: string[] = []
  let at = 0
  for (const line of diff) {
    const head = /^@@ -(\d+),\d+ \+(\d+),\d+ @@$/.exec(line)
    if (head) {
      made.push(...old.slice(at, Number(head[1]) - 1))
      at = Number(head[1]) - 1
      assert.equal(Number(head[2]) - 1, made.length)
    } else if (line.startsWith('+')) made.push(line.slice(1))
    else {
      assert.equal(line.slice(1), old[at++])
      if (line.startsWith(' ')) made.push(line.slice(1))
    }
  }
  return [...made, ...old.slice(at), ''].join('\n')
}

describe('the command', () => {
  it('warns of the order of services and clients only where a client is one over TCP', () => {
    const folder = mkdtempSync(join(tmpdir(), 'migrate-'))
    try {
      for (const [transport, isWarned] of [
        ['transport: Transport.RMQ', false],
        ['transport: Transport.TCP', true],
        ['', true]
      ] as const) {
        const text = `import { ClientsModule, Transport } from '@nestjs/microservices'\nClientsModule.register([{ ${transport} }])`
        writeFileSync(join(folder, 'module.ts'), text)
        const told: string[] = []
        assert.equal(
          migrate([folder], {
            out() {},
            error: (line) => void told.push(line),
            isTerminal: false,
            json: false
          }),
          0
        )
        assert.equal(told.join().includes('Over TCP'), isWarned, transport)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
