/** The example of a shop as a test project: with data and temporary files of its own. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@elysia-microservices/test-support'
import { natsFolder } from '../support/nats-server.ts'
import { rootFolder } from '../workspace.ts'
import { DevProcess, Project } from './dev-process.ts'

const SHOP = join(rootFolder, 'examples/shop')

/** @param preloaded a module that each of the shop's programs loads before all others */
export function shopProject(preloaded?: string): Project {
  const project = new Project({ ...(preloaded !== undefined && { 'preloaded.mjs': preloaded }) })
  // PostgreSQL, which does not run as root, needs access to its data in this folder.
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

/** The running shop. */
export interface RunningShop {
  readonly dev: DevProcess
  /** The ports of its services, for TCP and HTTP. */
  readonly ports: readonly number[]
  /** The address for customers. */
  readonly web: string
  /** The address of the page that shows the services. */
  readonly page: string
}

/** Starts the shop; resolves when all services are ready. */
export async function startShop(project: Project): Promise<RunningShop> {
  // New ports for each start: between two starts, another connection may have taken the old ones.
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
