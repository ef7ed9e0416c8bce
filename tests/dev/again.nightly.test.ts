/** `elysia-microservices dev` is started and ended fifty times in a row. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, service, web } from './programs.ts'

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
      // Sometimes in the middle of its start.
      await dev.says(n % 3 === 0 ? 'All services are shown' : 'All services are ready')
      const processes =
        n % 3 === 0 ? [] : [dev.number(/stock v1 is process (\d+)/), dev.number(/web is process (\d+)/)]
      assert.equal(await dev.end(n % 2 === 0 ? 'SIGTERM' : 'SIGINT'), 0, dev.log.lines.join('\n'))
      await dev.leavesNothing(processes, ports)
      if (n === TIMES) project.remove()
    })
})
