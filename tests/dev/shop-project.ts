/** The example of a shop as a project of a test's own: with data and temporary files that nobody else has. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@elysia-microservices/test-support'
import { natsFolder } from '../support/nats-server.ts'
import { rootFolder } from '../workspace.ts'
import { DevProcess, Project } from './dev-process.ts'

const SHOP = join(rootFolder, 'examples/shop')

/** @param preloaded a module that is loaded into each of its programs before all others */
export function shopProject(preloaded?: string): Project {
  const project = new Project({ ...(preloaded !== undefined && { 'preloaded.mjs': preloaded }) })
  // PostgreSQL, which does not run as root, must reach its data in there.
  chmodSync(project.temporary, 0o711)
  const flag = process.versions.bun === undefined ? '--import' : '--preload'
  const flags = preloaded === undefined ? [] : [flag, join(project.folder, 'preloaded.mjs')]
  project.write(
    'microservices.config.ts',
    `import shop from ${JSON.stringify(join(SHOP, 'microservices.config.ts'))}
const services = Object.entries(shop.services).map(([name, given]) => {
  const service = typeof given === 'string' ? { entry: given } : given
  const entry = ${JSON.stringify(`${SHOP}/`)} + service.entry
  return [name, { ...service, entry, cwd: ${JSON.stringify(SHOP)}, flags: ${JSON.stringify(flags)} }]
})
export default { ...shop, services: Object.fromEntries(services) }
`
  )
  return project
}

/** The shop while it runs. */
export interface RunningShop {
  readonly dev: DevProcess
  /** Of its services, which listen over TCP and HTTP. */
  readonly ports: readonly number[]
  /** Where its customers go. */
  readonly web: string
  /** Where the page about its services is. */
  readonly page: string
}

/** Starts it; resolves when all of it is ready. */
export async function startShop(project: Project): Promise<RunningShop> {
  // Each time others: between two starts some other connection may have got them.
  const ports = [await freePort(), await freePort(), await freePort()]
  const [PORT, ORDERS_PORT, STOCK_PORT] = ports.map(String)
  const PATH = `${await natsFolder()}:${process.env['PATH']}`
  const dev = new DevProcess(project, { args: [], env: { PATH, PORT, ORDERS_PORT, STOCK_PORT } })
  try {
    await dev.says('All services are ready')
    const page = dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)
    return { dev, ports, web: `http://127.0.0.1:${PORT}`, page: `http://localhost:${page}/console` }
  } catch (error) {
    await dev.endAnyway()
    throw error
  }
}
