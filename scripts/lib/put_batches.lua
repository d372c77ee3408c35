-- For wrk: each request PUTs a batch of dumps that no other request has, except that each eighth sends an earlier batch once more.
-- Environment: PUT_TOKEN, PUT_FOLDER (the names of batches that were answered with 201 go to PUT_FOLDER/answered.THREAD, other statuses to
-- PUT_FOLDER/other.THREAD), PUT_DUMPS (dumps in a batch, 4), PUT_PAUSE_MS (mean pause of a connection between two requests, 0), PUT_RUN (a
-- number below 256 that is in all ids, so that runs differ).
local folder, token = os.getenv("PUT_FOLDER"), os.getenv("PUT_TOKEN")
local dumps, pause = tonumber(os.getenv("PUT_DUMPS") or 4), tonumber(os.getenv("PUT_PAUSE_MS") or 0)
local run = tonumber(os.getenv("PUT_RUN") or 0)
local threads = 0

function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

function init(args)
    sent = 0
    math.randomseed(number + 1)
    answered = io.open(folder .. "/answered." .. number, "a")
    other = io.open(folder .. "/other." .. number, "a")
end

-- The text of a batch is the same each time: its length and stacks follow from its number.
local function batch(n)
    local lines = {}
    for i = 0, dumps - 1 do
        local at = 4096 + 64 * ((n * 7 + i) % 97)
        lines[#lines + 1] = string.format('{"format":"stall-dump/1","id":"%02x%06x-0000-4000-8000-%08x%04x","time":"2026-11-%02dT10:00:00.000Z",' ..
            '"app":{"id":"com.example.shop","version":"5.%d.0"},"stall":{"kind":"hang","duration_ms":%d,"ended":true},"names":{"%d":["f%d",8]},' ..
            '"images":[{"uuid":"6B834217-0000-0000-0000-000000000001","name":"Shop","load":4096,"size":65536,"in_app":true}],' ..
            '"threads":[{"id":1,"main":true,"frames":[%d]}],"context":{"screen":"%s"}}', run, number, n, i, 1 + n % 28, n % 3, 500 + n % 1000, at + 8,
            (n * 7 + i) % 97, at + 8, string.rep("s", n % 7 * n % 7 * 40))
    end
    return table.concat(lines, "\n") .. "\n"
end

function request()
    local n = sent
    sent = sent + 1
    if n % 8 == 7 then n = n - 3 end
    return wrk.format("PUT", string.format("/in/%d-%d-%d.jsonl", run, number, n), {["Authorization"] = "Bearer " .. token}, batch(n))
end

-- nginx says in Location which of the connection's requests it answers.
function response(status, headers)
    if status == 201 then
        answered:write((headers["Location"]:gsub("^.*/", "")), "\n")
        answered:flush()
    else
        other:write(status, "\n")
        other:flush()
    end
end

if pause > 0 then
    function delay() return math.random(0, 2 * pause) end
end
