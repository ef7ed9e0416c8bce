/** The transport of elysia-microservices inside NestJS apps. */
export {}
