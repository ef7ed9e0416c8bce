/** A class of NestJS or WynkJS with a method for each route, as if 500 methods had been written by hand. */
import type { Route } from '../work.ts'

interface Decorators {
  Controller(): ClassDecorator
  Get(path: string): MethodDecorator
  Param(name: string): ParameterDecorator
}

/** @param answer returns the answer of a route */
export function controllerOf(
  routes: readonly Route[],
  { Controller, Get, Param }: Decorators,
  pathOf: (route: Route) => string,
  answer: (route: Route, id: string | undefined) => unknown
): new () => object {
  class RoutesController {}
  const methods = RoutesController.prototype as Record<string, unknown>
  for (const route of routes) {
    methods[route.name] = (id?: string) => answer(route, id)
    if (route.kind === 'param') Param('id')(methods, route.name, 0)
    Get(pathOf(route))(methods, route.name, Object.getOwnPropertyDescriptor(methods, route.name)!)
  }
  Controller()(RoutesController)
  return RoutesController
}
