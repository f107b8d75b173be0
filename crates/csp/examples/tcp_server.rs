//! A TCP server on tokio that speaks to a network. Clients send words, and the answer to each word
//! is how often all clients have sent it. Only one process of the network knows the counts, so no
//! task of the server takes a lock.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;

use cellworks_csp::{
    Any, Channel, Gate, Item, Network, Place, Process, ProcessError, Reader, Writer,
};
use cellworks_host::Host;
use cellworks_machine::{Machine, SpeId};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn Error + Send + Sync>;

/// A word to count.
pub struct Request {
    word: String,
    answer: Writer<u64>,
}

impl Item for Request {}

/// Counts words until the server has ended.
fn count(
    process: &Process<'_, impl Place>,
    mut requests: Reader<Request>,
) -> Result<(), ProcessError> {
    let mut counts = BTreeMap::new();
    while let Ok(Request { word, mut answer }) = requests.read(process) {
        let count = counts.entry(word).or_insert(0);
        *count += 1;
        // The connection may have ended.
        let _ = answer.write(process, *count);
    }
    Ok(())
}

/// Serves a connection until the client ends it. Each connection is a task with a gate of its own.
async fn serve(gate: Gate<Writer<Request, Any>>, mut socket: TcpStream) -> Result<(), Failure> {
    let (gate, requests) = gate.into_async();
    let mut requests = gate.writer(requests);
    let (from_client, mut to_client) = socket.split();
    let mut words = BufReader::new(from_client).lines();
    while let Some(word) = words.next_line().await? {
        let (answer, answered) = Channel::new().one_to_one();
        requests.write(Request { word, answer }).await?;
        let count = gate.reader(answered).read().await?;
        to_client.write_all(format!("{count}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Sends a word several times, and returns the last answer.
async fn ask(server: SocketAddr, word: &str, times: u64) -> Result<u64, Failure> {
    let mut socket = TcpStream::connect(server).await?;
    let (from_server, mut to_server) = socket.split();
    let mut answers = BufReader::new(from_server).lines();
    let mut last = 0;
    for _ in 0..times {
        to_server.write_all(format!("{word}\n").as_bytes()).await?;
        let answer = answers.next_line().await?;
        last = answer.ok_or("the server has ended")?.parse()?;
    }
    Ok(last)
}

/// Serves two clients and then a third, whose answer it returns.
async fn server_and_clients(gate: Gate<Writer<Request, Any>>, times: u64) -> Result<u64, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await?;
            tokio::spawn(serve(gate.clone(), socket));
        }
        #[expect(unreachable_code, reason = "the type of the errors of the loop")]
        Ok::<(), Failure>(())
    });
    tokio::try_join!(ask(address, "rose", times), ask(address, "rose", times))?;
    let last = ask(address, "rose", 1).await?;
    // Drops the server's gate. The connections end with their clients, and then the network does.
    server.abort();
    Ok(last)
}

/// Runs the network with the server, and returns how often the clients have sent their word.
pub(crate) fn run<M: Machine + Sync>(machine: &M, times: u64) -> Result<u64, Failure> {
    let (requests, to_count) = Channel::new().named("requests").any_to_one();
    let mut network = Network::on(machine);
    network.process("counter", SpeId::new(0), move |process| {
        count(process, to_count)
    });
    let gate = network.gate("server", requests);
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let runtime = tokio::runtime::Runtime::new()?;
            runtime.block_on(server_and_clients(gate, times))
        });
        network.run()?;
        server.join().expect("the server does not panic")
    })
}

fn main() -> Result<(), Failure> {
    let count = run(&Host::new()?, 10)?;
    println!("the word was sent {count} times");
    assert_eq!(count, 21);
    Ok(())
}
