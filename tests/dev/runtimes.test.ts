/** Each service of `elysia-microservices dev` can have its own runtime. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { DENO, freePort, isMissing } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, service } from './programs.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const VERSIONS = {
  bun: 'Bun.version',
  node: "(globalThis.Bun ? '' : process.versions.node)",
  deno: 'Deno.version.deno'
}

/** The variables with which `dev` finds all runtimes. */
const env = { PATH: `${process.env['PATH']}${delimiter}${dirname(DENO)}` }

/** The program that is missing to run a runtime; `undefined`: none. */
function missing(runtime: string): string | undefined {
  const { status } = spawnSync(runtime, ['--version'], { env: { ...process.env, ...env } })
  return status === 0 ? undefined : `${runtime} on the PATH and in tools/runtimes`
}

describe('services of dev', () => {
  for (const [runtime, version] of Object.entries(VERSIONS)) {
    if (isMissing(`${runtime} of dev`, missing(runtime))) continue
    it(`run on ${runtime}, in TypeScript, are edited, and end`, async () => {
      const port = await freePort()
      const text = (label: string) => `${service('stock', port)}
const label: string = '${label}'
console.log(label, ${version})
`
      const project = new Project({
        'microservices.config.ts': config({ services: { stock: { entry: 'stock.ts', runtime } } }),
        'stock.ts': text('first')
      })
      const dev = new DevProcess(project, { env })
      ends.push(
        () => project.remove(),
        () => dev.endAnyway()
      )
      await dev.says('All services are ready')
      await dev.says('stock | first ')
      assert.match(dev.log.lines.find((line) => line.includes('| first ')) ?? '', /first \d+\.\d+/)
      project.write('stock.ts', text('second'))
      await dev.says('stock | second ')
      const pid = dev.number(/stock v1 is process (\d+)/)
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing([pid], [port])
    })
  }

  if (!isMissing('deno of dev', missing('deno')))
    it('that serve HTTP with the server of Deno are ready when they listen', async () => {
      const port = await freePort()
      const project = new Project({
        'microservices.config.ts': config({ services: { web: { entry: 'web.ts', runtime: 'deno' } } }),
        'web.ts': `Deno.serve({ port: ${port} }, () => new Response('here'))`
      })
      const dev = new DevProcess(project, { env })
      ends.push(
        () => project.remove(),
        () => dev.endAnyway()
      )
      await dev.says('All services are ready')
      assert.equal(await (await fetch(`http://localhost:${port}`)).text(), 'here')
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    })
})
