/**
 * Checks that the manifests match the recipe in the documentation and the programs, and leave the programs enough
 * time to finish calls in flight.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '@elysia-microservices/test-support'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Readonly<Record<string, unknown>>
}
interface Container {
  readonly command: readonly [string, string]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly [string, string] } } }
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
}
interface PodTemplate {
  readonly metadata: { readonly labels: object }
  readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] }
}

/** Parses YAML with Bun, because Node cannot. */
function parse(yaml: string): readonly Manifest[] {
  const script = 'console.log(JSON.stringify(Bun.YAML.parse(await Bun.stdin.text())))'
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { input: yaml, encoding: 'utf8' }))
}

const manifests = (name: string) => parse(readFileSync(here(`${name}.yaml`), 'utf8'))
const ofKind = (all: readonly Manifest[], kind: string) =>
  all.find((each) => each.kind === kind) ?? assert.fail(`There is no ${kind}`)

function podOf(name: string) {
  const all = manifests(name)
  const { selector, template } = ofKind(all, 'Deployment').spec as {
    readonly selector: { readonly matchLabels: object }
    readonly template: PodTemplate
  }
  const [container] = template.spec.containers
  return { all, selector, template, container, grace: template.spec.terminationGracePeriodSeconds }
}

/** The pod in the recipe of the documentation. */
const [, recipe = ''] =
  /^## Kubernetes$[\s\S]*?```yaml\n([\s\S]*?)```/m.exec(
    readFileSync(here('../../../docs/recipes.md'), 'utf8')
  ) ?? []

/** Starts a program with the environment of its manifest, in which ports are replaced by free ones. */
function start(name: string, ports: Readonly<Record<string, string>>): ChildProcess {
  const { command, env } = podOf(name).container
  assert.ok(existsSync(here(command[1])))
  for (const port of Object.keys(ports))
    assert.ok(
      env.some((each) => each.name === port),
      port
    )
  const given = Object.fromEntries(env.map((each) => [each.name, each.value]))
  return spawn(process.execPath, [here(command[1])], {
    env: { ...process.env, ...given, ...ports },
    stdio: ['ignore', 'pipe', 'inherit']
  })
}

async function ready(url: string): Promise<void> {
  for (;;) {
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false
    )
    if (isReady) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

describe('the manifests for Kubernetes', { timeout: 60_000 }, () => {
  for (const name of ['orders', 'gateway'])
    it(`of ${name} match each other, and have the probes and the stop time of the recipe`, () => {
      const { all, selector, template, container, grace } = podOf(name)
      assert.deepEqual(selector.matchLabels, template.metadata.labels)
      const service = ofKind(all, 'Service').spec as { readonly selector: object }
      assert.deepEqual(service.selector, template.metadata.labels)

      const told = (ofKind(parse(recipe), 'Deployment').spec as { readonly template: PodTemplate }).template
        .spec
      const withoutPort = (probe: Probe) => ({ ...probe, httpGet: { path: probe.httpGet.path } })
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
        assert.deepEqual(withoutPort(container[probe]), withoutPort(told.containers[0][probe]))
        assert.ok(container.ports.some((port) => port.name === container[probe].httpGet.port))
      }
      assert.deepEqual(container.lifecycle, told.containers[0].lifecycle)
      assert.equal(grace, told.terminationGracePeriodSeconds)
      const program = readFileSync(here(container.command[1]), 'utf8')
      for (const variable of container.env) assert.ok(program.includes(variable.name), variable.name)
    })

  it('leave more time than a drain takes', () => {
    const { container, grace } = podOf('orders')
    const program = readFileSync(here('orders.ts'), 'utf8')
    const drain = Number(/drain: ([\d_]+)/.exec(program)?.[1]?.replaceAll('_', ''))
    assert.ok(grace * 1_000 > Number(container.lifecycle.preStop.exec.command[1]) * 1_000 + drain)
  })

  it('start programs that answer their probes, and finish the call in flight at SIGTERM', async () => {
    const [tcp, health, http] = [await freePort('localhost'), await freePort('localhost'), await freePort()]
    const orders = start('orders', { PORT: String(tcp), HEALTH_PORT: String(health) })
    const gateway = start('gateway', { PORT: String(http), ORDERS: `dns:localhost:${tcp}` })
    try {
      const { livenessProbe, readinessProbe } = podOf('orders').container
      await ready(`http://127.0.0.1:${health}${readinessProbe.httpGet.path}`)
      assert.equal((await fetch(`http://127.0.0.1:${health}${livenessProbe.httpGet.path}`)).status, 200)
      await ready(`http://localhost:${http}${podOf('gateway').container.readinessProbe.httpGet.path}`)

      const url = `http://localhost:${http}/orders/7`
      orders.stdout!.resume()
      assert.equal((await fetch(url)).status, 200)
      const found = once(orders.stdout!, 'data')
      const inFlight = fetch(url)
      await found
      const ended = [once(orders, 'exit'), once(gateway, 'exit')]
      orders.kill('SIGTERM')
      assert.equal(((await (await inFlight).json()) as { id: string }).id, '7')
      gateway.kill('SIGTERM')
      assert.deepEqual(await Promise.all(ended), [
        [0, null],
        [0, null]
      ])
    } finally {
      orders.kill('SIGKILL')
      gateway.kill('SIGKILL')
    }
  })
})
