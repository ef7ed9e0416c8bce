/** A process that has a file open, has stored one event, and does nothing more: `bun owner-program.ts <file>`. */
import { openFile } from '../connection/open-file.ts'
import { runtimeDriver } from '../connection/runtime.ts'
import { EventLog } from '../log/event-log.ts'
import { newEvent } from './open-log.ts'

const database = await openFile(runtimeDriver, process.argv[2] as string)
const log = new EventLog(database, { maxAge: 0, maxBytes: 0, duplicateWindow: 1_000 })
log.append([newEvent()], Date.now())
console.log('open')
setInterval(() => {}, 60_000)
