import { fileURLToPath } from 'node:url'

/** The path of the program. */
export const workerd = fileURLToPath(import.meta.resolve('@cloudflare/workerd-linux-64/bin/workerd'))
