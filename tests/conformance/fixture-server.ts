/**
 * `fixture-server <nest|ours>`: one of the servers under test in a process of its own; prints its port, and ends when
 * its standard input ends.
 */
import { ConformanceController } from './controller.ts'
import { startNest, startOurs } from './harness/servers.ts'

const server = await (process.argv[2] === 'nest' ? startNest : startOurs)([ConformanceController])
console.log(JSON.stringify({ port: server.port }))
process.stdin.resume()
process.stdin.once('end', () => process.exit(0))
