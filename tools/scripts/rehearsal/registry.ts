/**
 * A registry on this machine: our packages are published to it, and it passes requests for all other packages on to
 * npm's registry.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test-support/src/free-port.ts'
import { type Place, start, until } from './commands.ts'

/** npm requires a token to publish; the registry accepts any. */
const TOKEN = 'rehearsal'
const OWN_NAMES = ['elysia-microservices', 'create-elysia-microservices', '@elysia-microservices/*']

export interface Registry {
  readonly url: string
  /** The lines of an `.npmrc` that make npm use this registry and allow it to publish. */
  readonly npmrc: string
  stop(): Promise<void>
}

/**
 * Starts the registry, without our packages.
 * @param node the program of Node that runs the registry
 * @param verdaccio the program of the registry
 * @param uplink the registry for all other packages
 */
export async function startRegistry(
  place: Place,
  node: string,
  verdaccio: string,
  uplink: string
): Promise<Registry> {
  const { folder } = place
  const storage = join(folder, 'storage')
  for (const name of OWN_NAMES)
    rmSync(join(storage, name.replace('/*', '')), { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const own = { access: '$all', publish: '$all' }
  const config = {
    storage,
    uplinks: { npm: { url: uplink, maxage: '1h', timeout: '60s', max_fails: 20, fail_timeout: '1s' } },
    packages: {
      ...Object.fromEntries(OWN_NAMES.map((name) => [name, own])),
      '**': { access: '$all', proxy: 'npm' }
    },
    auth: { htpasswd: { file: join(folder, 'htpasswd'), max_users: -1 } },
    max_body_size: '50mb',
    log: { type: 'stdout', format: 'pretty', level: 'warn' }
  }
  const file = join(folder, 'config.yaml')
  // The configuration is YAML, and all JSON is also YAML.
  writeFileSync(file, JSON.stringify(config, null, 2))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const server = start([node, verdaccio, '--config', file, '--listen', url.slice(0, -1)], place)
  await until('registry', async () => (await fetch(`${url}-/ping`)).ok, server)
  return {
    url,
    npmrc: `registry=${url}\n//127.0.0.1:${port}/:_authToken=${TOKEN}\n`,
    async stop() {
      server.kill('SIGTERM')
      await server.ended
    }
  }
}
