import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { run } from '../run.ts'

const folder = mkdtempSync(join(tmpdir(), 'proto-command-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
let file = ''
let bare = ''
beforeEach(() => {
  bare = join(folder, `orders-${files++}`)
  file = `${bare}.mjs`
})

function service(name: string, properties: object): string {
  const data = { type: 'object', properties, required: Object.keys(properties) }
  const handlers = [
    { kind: 'message', patterns: [{ kind: 'exact', pattern: `${name}.get` }], data, hooks: [] }
  ]
  return `{ listen() {}, describe: () => (${JSON.stringify({ name, handlers })}) }`
}

async function here(...line: string[]): Promise<{ code: number; out: string; error: string }> {
  const said = { out: '', error: '' }
  const code = await run(line, {
    out: (text) => {
      said.out += `${text}\n`
    },
    error: (text) => {
      said.error += `${text}\n`
    },
    isTerminal: false,
    stdin: async () => '',
    stdout: process.stdout,
    version: '0.0.0'
  })
  return { code, ...said }
}

const text = { type: 'string' }

describe('the command proto', () => {
  it('writes the .proto of a service and the numbers of its fields', async () => {
    writeFileSync(file, `export const orders = ${service('orders', { id: text })}`)
    assert.deepEqual(await here('proto', file), { code: 0, out: `${bare}.proto\n`, error: '' })
    assert.match(
      readFileSync(`${bare}.proto`, 'utf8'),
      /package orders;[\s\S]*rpc Get \(GetRequest\)[\s\S]*string id = 1;/
    )
    const numbers = JSON.parse(readFileSync(`${bare}.proto.json`, 'utf8'))
    assert.deepEqual(numbers.messages, { GetRequest: { id: { number: 1, type: 'string' } } })
    assert.equal((await here('proto', file, '--check')).code, 0)
  })

  it('keeps the numbers when the service has changed, which --check tells of', async () => {
    const description = `${bare}.json`
    const write = (properties: object) =>
      writeFileSync(
        description,
        JSON.stringify(
          JSON.parse(service('orders', properties).replace(/^.*?describe: \(\) => \(|\) }$/g, ''))
        )
      )
    write({ id: text, gone: text })
    await here('proto', description)
    write({ added: text, id: text })
    const before = readFileSync(`${bare}.proto`, 'utf8')
    const checked = await here('proto', description, '--check')
    assert.equal(checked.code, 1)
    assert.match(checked.out, /orders-\d+\.proto is not what .*json says/)
    assert.match(checked.error, /npx elysia-microservices proto .*\.json$/m)
    assert.equal(readFileSync(`${bare}.proto`, 'utf8'), before, '--check writes nothing')
    assert.equal((await here('proto', description)).code, 0)
    assert.match(
      readFileSync(`${bare}.proto`, 'utf8'),
      /reserved 2;\n {2}reserved "gone";\n {2}string id = 1;\n {2}string added = 3;/
    )
    assert.equal((await here('proto', description, '--check')).code, 0)
  })

  it('takes names, and the file to write', async () => {
    writeFileSync(file, `export default ${service('orders', { id: text })}`)
    const out = join(folder, 'named.proto')
    await here('proto', file, `--out=${out}`, '--package=shop.v1', '--service=Shop')
    assert.match(readFileSync(out, 'utf8'), /package shop\.v1;[\s\S]*service Shop \{/)
    assert.ok(!existsSync(`${bare}.proto`))
  })

  it('writes a file for each of several services', async () => {
    writeFileSync(
      file,
      `export const a = ${service('stock', { id: text })}; export const b = ${service('prices', { id: text })}; export const again = a`
    )
    const { out } = await here('proto', file)
    assert.deepEqual(
      out
        .trim()
        .split('\n')
        .map((path) => path.slice(folder.length + 1)),
      ['stock.proto', 'prices.proto']
    )
    assert.equal((await here('proto', file, '--out=x.proto')).code, 2)
  })

  for (const [what, line, message] of [
    ['no file', [], /proto needs the file of a service/],
    ['a file that is not there', ['nothing.ts'], /There is no file nothing\.ts/],
    ['two files', ['a.ts', 'b.ts'], /does not take the argument b\.ts/],
    ['an unknown option', ['a.ts', '--nothing'], /Unknown option '--nothing'/]
  ] as const)
    it(`refuses ${what}`, async () => {
      const { code, error } = await here('proto', ...line)
      assert.equal(code, 2)
      assert.match(error, message)
    })

  it('tells of a file without a service, and of one that fails', async () => {
    writeFileSync(file, 'export const orders = 1')
    assert.match((await here('proto', file)).error, /exports no service; export one/)
    const broken = `${bare}-broken.mjs`
    writeFileSync(broken, "throw new Error('no database')")
    assert.match((await here('proto', broken)).error, /cannot be imported: no database/)
    writeFileSync(`${bare}.json`, '{}')
    assert.match((await here('proto', `${bare}.json`)).error, /is no description of a service/)
  })
})

describe('the command types with a .proto', () => {
  it('prints its types', async () => {
    const path = `${bare}.proto`
    writeFileSync(
      path,
      'syntax = "proto3"; message A { int64 some_id = 1; } service S { rpc Get (A) returns (A); }'
    )
    const { code, out } = await here('types', path)
    assert.equal(code, 0)
    assert.match(out, /export interface S \{\n {2}"S\/Get"\(data: AInit\): A\n\}/)
    assert.match(out, /someId: bigint/)
    assert.match(
      (await here('types', path, '--shape=int64=number', '--shape=names=proto')).out,
      /some_id: number/
    )
    assert.match(
      (await here('types', path, '--loader={"longs":"String","keepCase":true}')).out,
      /some_id\?: string/
    )
  })

  it('refuses what it cannot read', async () => {
    const path = `${bare}.proto`
    assert.match((await here('types', path)).error, /There is no file/)
    writeFileSync(path, 'syntax = "proto3";')
    assert.match((await here('types', path, '--shape=int64')).error, /--shape must be name=value/)
    assert.match(
      (await here('types', path, '--shape=int64=long')).error,
      /options\.int64 must be 'bigint' or/
    )
    assert.match((await here('types', path, '--loader={')).error, /--loader must be JSON/)
  })
})
