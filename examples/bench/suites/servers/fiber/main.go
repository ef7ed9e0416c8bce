// Fiber, as its documentation shows it, on one processor unless told otherwise; its database by pgx.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/compress"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type health struct {
	Status  string `json:"status"`
	Uptime  int    `json:"uptime"`
	Version string `json:"version"`
}

type account struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

type user struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	City  string `json:"city"`
}

type order struct {
	ID       int     `json:"id"`
	Customer string  `json:"customer"`
	City     string  `json:"city"`
	Total    float64 `json:"total"`
	Items    []int   `json:"items"`
	Paid     bool    `json:"paid"`
}

type document struct {
	Title  string  `json:"title"`
	Orders []order `json:"orders"`
}

func orders() document {
	cities := []string{"Rome", "Oslo", "Lima", "Cairo", "Delhi"}
	doc := document{Title: "Orders of the day"}
	for i := 0; i < 85; i++ {
		doc.Orders = append(doc.Orders, order{
			ID: i + 1, Customer: fmt.Sprintf("Customer %d", (i*7919)%1000), City: cities[i%5],
			Total: float64((i*104729)%100000) / 100, Items: []int{(i * 31) % 97, (i * 17) % 89, (i * 13) % 83},
			Paid: i%3 != 0,
		})
	}
	return doc
}

func main() {
	host := flag.String("host", "127.0.0.1", "")
	port := flag.Int("port", 0, "")
	workload := flag.String("workload", "hello", "")
	database := flag.String("database", "", "")
	slow := flag.Bool("slow", false, "")
	processors := flag.Int("workers", 1, "")
	flag.Int("in-flight", 0, "")
	withParent := flag.Bool("with-parent", false, "")
	flag.Parse()
	runtime.GOMAXPROCS(*processors)

	app := fiber.New()
	if *workload == "compressed" {
		app.Use(compress.New())
	}
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("Hello, World!") })
	app.Get("/health", func(c fiber.Ctx) error { return c.JSON(health{"ok", 86400, "1.0.0"}) })
	app.Get("/api/user/:id", func(c fiber.Ctx) error {
		id := c.Params("id")
		return c.JSON(account{id, "User " + id, "user" + id + "@example.com"})
	})
	app.Post("/api/user", func(c fiber.Ctx) error {
		var body account
		if err := c.Bind().JSON(&body); err != nil {
			return err
		}
		return c.JSON(account{"1001", body.Name, body.Email})
	})
	doc := orders()
	app.Get("/compressed", func(c fiber.Ctx) error { return c.JSON(doc) })
	if *workload == "router" {
		addRoutes(app)
	}
	if *database != "" {
		addUsers(app, *database, *slow)
	}

	listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", *host, *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() { <-stop; os.Exit(0) }()
	if *withParent {
		go obeyParent()
	}
	fmt.Printf("listening on tcp://%s:%d\n", *host, listener.Addr().(*net.TCPAddr).Port)
	if err := app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}); err != nil {
		os.Exit(1)
	}
}

func addRoutes(app *fiber.App) {
	for i := 0; i < 500; i++ {
		name := fmt.Sprintf("r%d", i)
		area := fmt.Sprintf("/shop%d", i%25)
		plain := func(c fiber.Ctx) error { return c.SendString(name) }
		switch i % 5 {
		case 3:
			app.Get(fmt.Sprintf("%s/orders%d/:id/detail", area, i), func(c fiber.Ctx) error {
				return c.SendString(name + " " + c.Params("id"))
			})
		case 4:
			app.Get(fmt.Sprintf("%s/files%d/*", area, i), plain)
		default:
			app.Get(fmt.Sprintf("%s/pages/%s/list", area, name), plain)
		}
	}
}

func addUsers(app *fiber.App, database string, slow bool) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		panic(err)
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		panic(err)
	}
	query := "SELECT id, name, email, city FROM users ORDER BY id LIMIT $1"
	if slow {
		query = "WITH pause AS MATERIALIZED (SELECT pg_sleep(0.02)) SELECT id, name, email, city FROM pause, users ORDER BY id LIMIT $1"
	}
	app.Get("/users", func(c fiber.Ctx) error {
		limit, _ := strconv.Atoi(c.Query("limit"))
		waiting, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		connection, err := pool.Acquire(waiting)
		cancel()
		if err != nil {
			return err
		}
		defer connection.Release()
		rows, err := connection.Query(context.Background(), query, limit)
		if err != nil {
			return err
		}
		users, err := pgx.CollectRows(rows, pgx.RowToStructByPos[user])
		if err != nil {
			return err
		}
		return c.JSON(users)
	})
}

// Ends when stdin does; the line `gc` collects garbage.
func obeyParent() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "gc" {
			debug.FreeOSMemory()
			fmt.Println("collected")
		}
	}
	os.Exit(0)
}
