/** The name by which our clients call themselves. Handlers are not told it, as over every other transport. */
export const USER_AGENT = 'elysia-microservices'
