/** `elysia-microservices dev` is started and ended fifty times in a row: with two small services, and with the shop. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, service, web } from './programs.ts'
import { shopProject, startShop } from './shop-project.ts'

const TIMES = 50

describe('dev, again and again', () => {
  const ports: number[] = []
  let project: Project

  for (let n = 1; n <= TIMES; n++)
    it(`starts and ends for the ${n}. time`, async () => {
      if (n === 1) {
        while (ports.length < 3) ports.push(await freePort())
        const [stock = 0, http = 0, page = 0] = ports
        project = new Project({
          'microservices.config.ts': config({
            page: { port: page },
            services: { stock: 'stock.js', web: { entry: 'web.js', after: ['stock'] } }
          }),
          'stock.js': service('stock', stock),
          'web.js': web(http)
        })
      }
      const dev = new DevProcess(project, { args: [] })
      // Every third time while dev is still starting.
      await dev.says(n % 3 === 0 ? 'All services are shown' : 'All services are ready')
      const processes =
        n % 3 === 0 ? [] : [dev.number(/stock v1 is process (\d+)/), dev.number(/web is process (\d+)/)]
      assert.equal(await dev.end(n % 2 === 0 ? 'SIGTERM' : 'SIGINT'), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
      if (n === TIMES) project.remove()
    })
})

/** The processes that a process has started, and the processes that these have started. */
function startedBy(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
      } catch {
        // The process has ended in between.
        return false
      }
    })
    .map(Number)
  return children.flatMap((child) => [child, ...startedBy(child)])
}

// Only on Linux, because the processes are read from /proc.
if (process.platform === 'linux')
  describe('dev with the shop, again and again', () => {
    const project = shopProject()
    after(() => project.remove())

    for (let n = 1; n <= TIMES; n++)
      it(`starts and ends for the ${n}. time, with its engines`, async () => {
        const { dev, ports } = await startShop(project)
        const processes = startedBy(dev.child.pid!)
        // Four services, PostgreSQL and NATS.
        assert.ok(processes.length >= 6, processes.join())
        assert.equal(await dev.end(n % 2 === 0 ? 'SIGTERM' : 'SIGINT'), 0, dev.log.lines.join('\n'))
        await dev.leavesNothing(processes, ports)
      })
  })
