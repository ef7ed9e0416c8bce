/**
 * The recipes for deploying a service: the program starts as they say, answers its probes, and ends before it is
 * killed.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { freePort, until } from '@elysia-microservices/test-support'
import { bun, rootFolder, testsFolder } from '../workspace.ts'
import { codeBlocks } from './markdown.ts'

const blocks = codeBlocks(join(rootFolder, 'docs/recipes.md'))
const folder = join(testsFolder, 'dist', `recipes-${process.pid}`)
const program = join(folder, 'deployed.ts')

function codeOf(info: string, words = ''): string {
  const block = blocks.find((each) => each.info === info && each.code.includes(words))
  assert.ok(block, `a block of ${info}`)
  return block.code
}

/** Milliseconds for which the service waits for its messages. */
const drain = Number(/drain: ([\d_]+)/.exec(codeOf('ts', '// deployed.ts'))?.[1]?.replaceAll('_', ''))

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly [string, string] } } }
}
interface PodSpec {
  readonly terminationGracePeriodSeconds: number
  readonly containers: readonly [Container]
}
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector: Readonly<Record<string, unknown>>
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec }
    readonly ports: readonly { readonly port: number }[]
  }
}

/** Parses YAML with Bun, because Node cannot. */
function parseYaml(text: string): unknown {
  const script = 'console.log(JSON.stringify(Bun.YAML.parse(await Bun.stdin.text())))'
  return JSON.parse(execFileSync(bun, ['-e', script], { input: text, encoding: 'utf8' }))
}

/**
 * Starts the program, requests paths on its health port once it is ready, sends the signal, and waits until the
 * program ends.
 */
async function deploy(signal: NodeJS.Signals, paths: readonly string[] = []): Promise<void> {
  const [port, healthPort] = [await freePort('localhost'), await freePort('localhost')]
  const env = { ...process.env, PORT: String(port), HEALTH_PORT: String(healthPort) }
  const service = spawn(bun, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const ask = (path: string) => fetch(`http://127.0.0.1:${healthPort}${path}`)
    // Before it is ready, the program does not listen to the signal.
    await until('it is ready', () =>
      ask('/readyz').then(
        ({ ok }) => ok,
        () => false
      )
    )
    for (const path of paths) assert.equal((await ask(path)).status, 200, path)
    service.kill(signal)
    assert.deepEqual(await once(service, 'exit'), [0, null])
  } finally {
    service.kill('SIGKILL')
  }
}

describe('the recipes', () => {
  before(() => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(program, codeOf('ts', '// deployed.ts'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('have a manifest whose pod answers its probes, and whose Service finds it', async () => {
    const [deployment, service] = parseYaml(codeOf('yaml')) as [Manifest, Manifest]
    assert.deepEqual([deployment.kind, service.kind], ['Deployment', 'Service'])
    const { template, selector } = deployment.spec
    assert.deepEqual(selector['matchLabels'], template.metadata.labels)
    assert.deepEqual(service.spec.selector, template.metadata.labels)

    const [container] = template.spec.containers
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
    const ports = Object.fromEntries(container.ports.map((port) => [port.name, port.containerPort]))
    assert.deepEqual(ports, { tcp: Number(env['PORT']), health: Number(env['HEALTH_PORT']) })
    assert.equal(service.spec.ports[0]?.port, ports['tcp'])
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
    for (const { httpGet } of probes) assert.equal(httpGet.port, 'health')

    const before = Number(container.lifecycle.preStop.exec.command[1])
    assert.ok(template.spec.terminationGracePeriodSeconds * 1_000 > before * 1_000 + drain)
    await deploy(
      'SIGTERM',
      probes.map(({ httpGet }) => httpGet.path)
    )
  })

  it('have a unit of systemd that waits for the drain', async () => {
    const unit = codeOf('ini')
    const value = (key: string) => new RegExp(`^${key}=(.+)$`, 'm').exec(unit)?.[1]
    assert.match(value('ExecStart') ?? '', /\/deployed\.js$/)
    assert.equal(value('KillSignal'), undefined, 'SIGTERM')
    assert.ok(Number(value('TimeoutStopSec')) * 1_000 > drain)
    await deploy('SIGTERM')
  })

  it('have a configuration of PM2 that waits for the drain', async () => {
    const sandbox = { module: { exports: {} as { apps: { exec_mode: string; kill_timeout: number }[] } } }
    runInNewContext(codeOf('js'), sandbox)
    const [app] = sandbox.module.exports.apps
    assert.equal(app?.exec_mode, 'fork')
    assert.ok(app.kill_timeout > drain)
    await deploy('SIGINT')
  })
})
