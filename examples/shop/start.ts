/**
 * Starts the shop: a PostgreSQL of its own (or the one of `DATABASE_URL`), then the services, each as a process. A service that ends is started again.
 * Prints a line for each process, then where the shop is. SIGTERM and SIGINT end all of it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { startDatabase } from './database.ts'

const SERVICES = ['stock', 'payments', 'orders', 'gateway'] as const
/** Under Node the programs are compiled. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
/** Milliseconds before a service that has ended is started again. */
const PAUSE = 200

const [databasePort, ...servicePorts] = await Promise.all(SERVICES.map(freePort))
const ownDatabase = process.env['DATABASE_URL']
const stopDatabase = ownDatabase === undefined ? await startDatabase(databasePort!) : undefined

const [stock, payments, orders] = servicePorts
const port = process.env['PORT'] ?? '3000'
const environment = {
  ...process.env,
  PORT: port === '0' ? String(await freePort()) : port,
  DATABASE_URL: ownDatabase ?? `postgres://postgres:password@127.0.0.1:${databasePort}/postgres`,
  STOCK_PORT: String(stock),
  PAYMENTS_PORT: String(payments),
  ORDERS_PORT: String(orders)
}

const running = new Map<string, ChildProcess>()
let isStopping = false
for (const name of SERVICES) run(name)
await Promise.all([stock, payments, orders, Number(environment.PORT)].map((each) => listening(each!)))
console.log(`The shop is open: http://127.0.0.1:${environment.PORT}/openapi`)
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  // The package of the database listens too, and would end this process before the services have ended.
  process.removeAllListeners(signal)
  process.once(signal, () => void stop())
}

function run(name: string): void {
  const file = fileURLToPath(new URL(`services/${name}.${EXTENSION}`, import.meta.url))
  const child = spawn(process.execPath, [file], { env: environment, stdio: ['ignore', 'inherit', 'inherit'] })
  running.set(name, child)
  console.log(`${name}: process ${child.pid}`)
  child.once('exit', (code, signal) => {
    if (isStopping) return
    console.log(`${name} has ended (${signal ?? code}); it is started again`)
    setTimeout(() => isStopping || run(name), PAUSE)
  })
}

async function stop(): Promise<void> {
  isStopping = true
  await Promise.all(
    [...running.values()].map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    })
  )
  await stopDatabase?.()
  process.exit()
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until somebody listens. */
async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = net.connect(port, '127.0.0.1')
    const isThere = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false)
    ]).catch(() => false)
    socket.destroy()
    if (isThere) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
